// Netlink attributes (type, length, value): builds those of a request, reads those of an answer.
//
// Pure, and the only place that walks attribute bytes: every length is checked before it is
// believed. Integers are in host byte order, as netlink sends them.
// Threading: values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace rb::agent::rdma {

// Views into the message that was parsed: it must outlive them.
class NetlinkAttributes {
 public:
  // Errors: kCorrupt, an attribute is longer than what is left. Up to 3 bytes of padding at the
  // end may be missing.
  static Result<NetlinkAttributes> Parse(std::string_view bytes);
  static Result<NetlinkAttributes> Parse(std::string&& temporary) = delete;  // views would dangle

  // An integer attribute of 1, 2, 4 or 8 bytes: kernels have widened some. Absent when there is
  // none, or one of another size.
  std::optional<std::uint64_t> Number(std::uint16_t type) const;
  std::optional<std::uint32_t> Number32(std::uint16_t type) const;
  // A string without its NUL; empty when absent.
  std::string Text(std::uint16_t type) const;
  // The first attribute of this type; empty view when absent.
  std::string_view Bytes(std::uint16_t type) const;
  // All attributes of this type, each parsed as a nest of its own: a table's rows.
  Result<std::vector<NetlinkAttributes>> Nests(std::uint16_t type) const;

 private:
  struct Attribute {
    std::uint16_t type = 0;
    std::string_view value;
  };

  const Attribute* FindFirst(std::uint16_t type) const;

  std::vector<Attribute> attributes_;
};

// Append one attribute, padded as netlink wants it.
void PutNumber32(std::string& attributes, std::uint16_t type, std::uint32_t value);
void PutNumber64(std::string& attributes, std::uint16_t type, std::uint64_t value);
void PutNumber8(std::string& attributes, std::uint16_t type, std::uint8_t value);
void PutText(std::string& attributes, std::uint16_t type, std::string_view text);
void PutNest(std::string& attributes, std::uint16_t type, std::string_view nested);

}  // namespace rb::agent::rdma
