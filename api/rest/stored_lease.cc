// The checkpoint's text: one line with format, length and checksum, then JSON. A file that was cut,
// or in which a bit fell over, is told from a good one before anything in it is believed.
#include "api/rest/stored_lease.h"

#include <array>
#include <charconv>

#include "api/rest/json.h"
#include "api/rest/lease_fields.h"
#include "api/rest/reader.h"
#include "api/rest/writer.h"

namespace rb::rest {
namespace {

constexpr std::string_view kFormat = "rdma-agent-checkpoint-1 ";
constexpr std::size_t kLeasesMax = 100'000;

struct StoredLeaseFields {
  template <class Io, class T>
  void operator()(Io& io, T& stored) const {
    for (const char* name : {"lease", "token_hash", "expires_boot_ns"}) io.Required(name);
    io.Object("lease", stored.lease, internal::LeaseFields{});
    io.Text("token_hash", stored.token_hash);
    io.Integer("expires_boot_ns", stored.expires_boot_ns);
  }
};

struct CheckpointFields {
  template <class Io, class T>
  void operator()(Io& io, T& checkpoint) const {
    for (const char* name : {"boot_id", "next_revision", "next_event", "leases"}) io.Required(name);
    io.Text("boot_id", checkpoint.boot_id);
    io.Integer("next_revision", checkpoint.next_revision);
    io.Integer("next_event", checkpoint.next_event);
    io.List("leases", checkpoint.leases, kLeasesMax, StoredLeaseFields{});
  }
};

// FNV-1a, 64 bits: against damage, not against forgery (the file is root's alone).
std::uint64_t Checksum(std::string_view text) {
  std::uint64_t hash = 0xCBF2'9CE4'8422'2325;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x0000'0100'0000'01B3;
  }
  return hash;
}

std::string HeaderOf(std::string_view json) {
  std::array<char, 16> hex{};
  const auto end = std::to_chars(hex.data(), hex.data() + hex.size(), Checksum(json), 16).ptr;
  return std::string(kFormat) + std::to_string(json.size()) + ' ' + std::string(hex.data(), end) +
         '\n';
}

}  // namespace

std::string DumpCheckpoint(const Checkpoint& checkpoint) {
  const std::string json = internal::Dump(checkpoint, CheckpointFields{});
  return HeaderOf(json) + json + '\n';
}

Result<Checkpoint> ParseCheckpoint(std::string_view text) {
  const std::size_t newline = text.find('\n');
  if (!text.starts_with(kFormat) || newline == std::string_view::npos) {
    return Fail(ErrorCode::kCorrupt,
                "checkpoint: does not start with \"" + std::string(kFormat) + '"');
  }
  std::string_view json = text.substr(newline + 1);
  if (!json.ends_with('\n')) return Fail(ErrorCode::kCorrupt, "checkpoint: cut short");
  json.remove_suffix(1);
  if (text.substr(0, newline + 1) != HeaderOf(json)) {
    return Fail(ErrorCode::kCorrupt, "checkpoint: length or checksum differs");
  }
  auto checkpoint = internal::Read<Checkpoint>(json, CheckpointFields{}, internal::kAnswerBytesMax);
  if (!checkpoint) {
    return Fail(ErrorCode::kCorrupt, "checkpoint " + checkpoint.error().message,
                checkpoint.error().reason);
  }
  return checkpoint;
}

}  // namespace rb::rest
