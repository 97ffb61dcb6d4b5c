#include "agent/rdma/netlink_attributes.h"

#include <linux/netlink.h>

#include <algorithm>
#include <limits>

namespace rb::agent::rdma {
namespace {

template <typename T>
T Load(std::string_view bytes) {
  T value{};
  bytes.copy(reinterpret_cast<char*>(&value), sizeof(value));
  return value;
}

void PutBytes(std::string& attributes, std::uint16_t type, std::string_view value) {
  const std::size_t length = NLA_HDRLEN + value.size();
  RB_CHECK(length <= std::numeric_limits<std::uint16_t>::max());
  nlattr header{};
  header.nla_len = static_cast<std::uint16_t>(length);
  header.nla_type = type;
  attributes.append(reinterpret_cast<const char*>(&header), sizeof(header));
  attributes.append(value);
  attributes.append(NLA_ALIGN(length) - length, '\0');
}

template <typename T>
void PutInteger(std::string& attributes, std::uint16_t type, T value) {
  PutBytes(attributes, type, {reinterpret_cast<const char*>(&value), sizeof(value)});
}

}  // namespace

Result<NetlinkAttributes> NetlinkAttributes::Parse(std::string_view bytes) {
  NetlinkAttributes parsed;
  while (bytes.size() >= NLA_HDRLEN) {
    const auto header = Load<nlattr>(bytes);
    if (header.nla_len < NLA_HDRLEN || header.nla_len > bytes.size()) {
      return Fail(ErrorCode::kCorrupt, "parse netlink attribute: it does not fit its message");
    }
    parsed.attributes_.push_back(
        {.type = static_cast<std::uint16_t>(header.nla_type & NLA_TYPE_MASK),
         .value = bytes.substr(NLA_HDRLEN, header.nla_len - NLA_HDRLEN)});
    // The last attribute may come without its padding.
    bytes.remove_prefix(std::min<std::size_t>(NLA_ALIGN(header.nla_len), bytes.size()));
  }
  return parsed;
}

const NetlinkAttributes::Attribute* NetlinkAttributes::FindFirst(std::uint16_t type) const {
  const auto found =
      std::ranges::find_if(attributes_, [type](const Attribute& a) { return a.type == type; });
  return found == attributes_.end() ? nullptr : &*found;
}

std::optional<std::uint64_t> NetlinkAttributes::Number(std::uint16_t type) const {
  const Attribute* found = FindFirst(type);
  if (found == nullptr) return std::nullopt;
  switch (found->value.size()) {
    case 1:
      return Load<std::uint8_t>(found->value);
    case 2:
      return Load<std::uint16_t>(found->value);
    case 4:
      return Load<std::uint32_t>(found->value);
    case 8:
      return Load<std::uint64_t>(found->value);
    default:
      return std::nullopt;
  }
}

std::optional<std::uint32_t> NetlinkAttributes::Number32(std::uint16_t type) const {
  const std::optional<std::uint64_t> wide = Number(type);
  if (!wide || *wide > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  return static_cast<std::uint32_t>(*wide);
}

std::string NetlinkAttributes::Text(std::uint16_t type) const {
  const std::string_view value = Bytes(type);
  return std::string(value.substr(0, value.find('\0')));
}

std::string_view NetlinkAttributes::Bytes(std::uint16_t type) const {
  const Attribute* found = FindFirst(type);
  return found == nullptr ? std::string_view() : found->value;
}

Result<std::vector<NetlinkAttributes>> NetlinkAttributes::Nests(std::uint16_t type) const {
  std::vector<NetlinkAttributes> nests;
  for (const Attribute& attribute : attributes_) {
    if (attribute.type != type) continue;
    RB_TRY(auto nest, Parse(attribute.value));
    nests.push_back(std::move(nest));
  }
  return nests;
}

void PutNumber8(std::string& attributes, std::uint16_t type, std::uint8_t value) {
  PutInteger(attributes, type, value);
}

void PutNumber32(std::string& attributes, std::uint16_t type, std::uint32_t value) {
  PutInteger(attributes, type, value);
}

void PutNumber64(std::string& attributes, std::uint16_t type, std::uint64_t value) {
  PutInteger(attributes, type, value);
}

void PutText(std::string& attributes, std::uint16_t type, std::string_view text) {
  PutBytes(attributes, type, std::string(text) + '\0');
}

void PutNest(std::string& attributes, std::uint16_t type, std::string_view nested) {
  PutBytes(attributes, static_cast<std::uint16_t>(type | NLA_F_NESTED), nested);
}

}  // namespace rb::agent::rdma
