#include "agent/rdma/sysfs_device.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>
#include <utility>

#include "common/base/files.h"

namespace rb::agent::rdma {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kDeviceNameBytesMax = 63;  // the kernel's IB_DEVICE_NAME_MAX without NUL
constexpr std::uint32_t kGidTableMax = 1U << 16;
constexpr std::string_view kEmptyGid = "0000:0000:0000:0000:0000:0000:0000:0000";

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  return text;
}

// Empty when the file is not there or will not be read: drivers leave out what they do not have.
std::string ReadTrimmed(const std::string& path) {
  const auto text = ReadSmallFile(path);
  return text ? std::string(Trim(*text)) : std::string();
}

template <typename T>
std::optional<T> ParseNumber(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string> ListNames(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  return names;
}

// The last part of what a symbolic link points to; empty when there is no such link.
std::string LinkTarget(const std::string& path) {
  std::error_code error;
  const fs::path target = fs::read_symlink(path, error);
  return error ? std::string() : target.filename().string();
}

// "0000:3b:00.1": domain, bus, device, function.
bool IsPciAddress(std::string_view name) {
  constexpr std::string_view kPattern = "0000:00:00.0";
  if (name.size() < kPattern.size()) return false;
  // A domain can have more than four digits.
  const std::size_t extra = name.size() - kPattern.size();
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char want = i < extra ? '0' : kPattern[i - extra];
    const bool hex = std::string_view("0123456789abcdef").find(name[i]) != std::string_view::npos;
    if (want == '0' ? !hex : name[i] != want) return false;
  }
  return true;
}

// The PCI function that `device` stands on. irdma and mlx5 sub-functions hang below an auxiliary
// device, whose own path has the function's address in it.
std::string FindPciAddress(const std::string& device_link) {
  std::error_code error;
  fs::path path = fs::canonical(device_link, error);
  if (error) return {};
  for (; path.has_relative_path(); path = path.parent_path()) {
    const std::string name = path.filename().string();
    if (IsPciAddress(name)) return name;
  }
  return {};
}

LinkLayer ParseLinkLayer(std::string_view text) {
  if (text == "InfiniBand") return LinkLayer::kInfiniband;
  if (text == "Ethernet") return LinkLayer::kEthernet;
  return LinkLayer::kUnspecified;
}

// "5: LinkUp" -> "linkup".
std::string ParsePhysicalState(std::string_view text) {
  const std::size_t colon = text.find(": ");
  if (colon == std::string_view::npos) return {};
  std::string word(text.substr(colon + 2));
  std::ranges::transform(word, word.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return word;
}

// Entries are numbered without gaps. A table has up to 1024 of them and is read again at every
// change of an address, so the files are opened relative to their directory.
void ReadGids(const std::string& port, SysfsPort& result) {
  const auto gids = OpenDirectory(port + "/gids");
  if (!gids) return;
  for (std::uint32_t index = 0; index < kGidTableMax; ++index) {
    const std::string name = std::to_string(index);
    const auto text = ReadSmallFileAt(gids->get(), name);
    // Some kernels answer EINVAL for an empty entry; anything else is the end of the table.
    if (!text && text.error().code != ErrorCode::kInvalid) return;
    ++result.gid_table_length;
    const std::string_view gid = text ? Trim(*text) : std::string_view();
    if (gid.empty() || gid == kEmptyGid) continue;
    result.gids.push_back({.index = index,
                           .gid = std::string(gid),
                           .type = ReadTrimmed(port + "/gid_attrs/types/" + name),
                           .netdev = ReadTrimmed(port + "/gid_attrs/ndevs/" + name)});
  }
}

}  // namespace

bool IsDeviceName(std::string_view name) {
  return !name.empty() && name.size() <= kDeviceNameBytesMax && name.front() != '.' &&
         name.find('/') == std::string_view::npos && name.find('\0') == std::string_view::npos;
}

std::uint64_t ParseRate(std::string_view text) {
  constexpr std::uint64_t kBitsPerGigabit = 1'000'000'000;
  const std::size_t unit = text.find(" Gb/sec");
  if (unit == std::string_view::npos) return 0;
  // At most one decimal: "2.5".
  const std::string_view number = text.substr(0, unit);
  const std::size_t dot = number.find('.');
  const auto whole = ParseNumber<std::uint32_t>(number.substr(0, dot));
  if (!whole) return 0;
  if (dot == std::string_view::npos) return *whole * kBitsPerGigabit;
  const auto tenths = ParseNumber<std::uint32_t>(number.substr(dot + 1));
  if (!tenths || *tenths > 9) return 0;
  return *whole * kBitsPerGigabit + *tenths * (kBitsPerGigabit / 10);
}

Result<std::pair<std::uint32_t, std::uint32_t>> ParseDeviceNumber(std::string_view text) {
  text = Trim(text);
  const std::size_t colon = text.find(':');
  if (colon != std::string_view::npos) {
    const auto major = ParseNumber<std::uint32_t>(text.substr(0, colon));
    const auto minor = ParseNumber<std::uint32_t>(text.substr(colon + 1));
    if (major && minor) return std::pair{*major, *minor};
  }
  return Fail(ErrorCode::kCorrupt, "parse device number: not major:minor");
}

SysfsDevice ReadSysfsDevice(const std::string& sysfs, const std::string& device) {
  const std::string directory = sysfs + "/class/infiniband/" + device;
  SysfsDevice result{.board_id = ReadTrimmed(directory + "/board_id"),
                     .parent_driver = LinkTarget(directory + "/device/driver"),
                     .pci_address = FindPciAddress(directory + "/device"),
                     .numa_node = std::nullopt};
  const auto node = ParseNumber<int>(ReadTrimmed(directory + "/device/numa_node"));
  if (node && *node >= 0) result.numa_node = node;  // -1: the platform does not say
  return result;
}

SysfsPort ReadSysfsPort(const std::string& sysfs, const std::string& device, std::uint32_t port) {
  const std::string directory =
      sysfs + "/class/infiniband/" + device + "/ports/" + std::to_string(port);
  SysfsPort result{
      .physical_state = ParsePhysicalState(ReadTrimmed(directory + "/phys_state")),
      .link_layer = ParseLinkLayer(ReadTrimmed(directory + "/link_layer")),
      .rate_bits_per_second = ParseRate(ReadTrimmed(directory + "/rate")),
      .gid_table_length = 0,
      .gids = {},
  };
  ReadGids(directory, result);
  return result;
}

std::uint32_t ReadInterfaceMtu(const std::string& sysfs, const std::string& interface) {
  if (interface.empty()) return 0;
  return ParseNumber<std::uint32_t>(ReadTrimmed(sysfs + "/class/net/" + interface + "/mtu"))
      .value_or(0);
}

Result<SysfsNode> FindUverbsNode(const std::string& sysfs, const std::string& device) {
  const std::string directory = sysfs + "/class/infiniband_verbs";
  for (const std::string& name : ListNames(directory)) {
    if (!name.starts_with("uverbs")) continue;
    if (ReadTrimmed(directory + "/" + name + "/ibdev") != device) continue;
    RB_TRY(const std::string number, ReadSmallFile(directory + "/" + name + "/dev"));
    RB_TRY(const auto parsed, ParseDeviceNumber(number));
    return SysfsNode{.name = name, .major = parsed.first, .minor = parsed.second};
  }
  return Fail(ErrorCode::kNotFound, "find uverbs node of " + device + ": there is none");
}

}  // namespace rb::agent::rdma
