#include "shim/uverbs/write_abi.h"

#include <cerrno>
#include <cstring>

#include "shim/uverbs/verb_table.h"

namespace rb::shim {
namespace {

constexpr std::size_t kAttrBytesMax = 0xffff;

// The four parts of a command.
struct Parts {
  std::uint64_t command = 0;
  const std::uint8_t* core_in = nullptr;
  std::size_t core_in_bytes = 0;
  std::size_t uhw_in_bytes = 0;
  std::uint64_t response = 0;
  std::size_t core_out_bytes = 0;
  std::size_t uhw_out_bytes = 0;
};

class Builder {
 public:
  Builder(InvokeWrite* call, std::uint32_t driver_id) : header_(call->get()) {
    *call = InvokeWrite{};
    header_->object_id = UVERBS_OBJECT_DEVICE;
    header_->method_id = UVERBS_METHOD_INVOKE_WRITE;
    header_->driver_id = driver_id;
  }

  void AddInput(std::uint16_t id, const void* data, std::size_t bytes) {
    if (bytes == 0) return;
    ib_uverbs_attr* attr = Add(id, bytes);
    if (bytes <= sizeof(attr->data)) {
      std::memcpy(&attr->data, data, bytes);
    } else {
      attr->data = reinterpret_cast<std::uint64_t>(data);
    }
  }

  void AddOutput(std::uint16_t id, std::uint64_t address, std::size_t bytes) {
    if (bytes != 0) Add(id, bytes)->data = address;
  }

  void Finish() {
    header_->length = static_cast<std::uint16_t>(sizeof(*header_) +
                                                 (header_->num_attrs * sizeof(ib_uverbs_attr)));
  }

 private:
  ib_uverbs_attr* Add(std::uint16_t id, std::size_t bytes) {
    ib_uverbs_attr* attr = &header_->attrs[header_->num_attrs++];
    attr->attr_id = id;
    attr->len = static_cast<std::uint16_t>(bytes);
    attr->flags = UVERBS_ATTR_F_MANDATORY;
    return attr;
  }

  ib_uverbs_ioctl_hdr* header_;
};

// Plain form: header, core request, provider's request; the response address is the first word.
int SplitPlain(const std::uint8_t* buffer, std::size_t bytes, const ib_uverbs_cmd_hdr& header,
               Parts* parts) {
  if (std::size_t{header.in_words} * 4 != bytes) return EINVAL;
  const VerbRow* row = FindWrite(Abi::kWrite, header.command);
  const std::size_t in_bytes = bytes - sizeof(header);
  const std::size_t out_bytes = std::size_t{header.out_words} * 4;
  // Posts carry a list behind the fixed part, and commands that we do not know have no split: all
  // of it is the core's.
  const bool whole = row == nullptr || row->action == Action::kPost || row->action == Action::kPoll;
  const std::size_t core_in = whole || row->core_in > in_bytes ? in_bytes : row->core_in;
  const std::size_t core_out = whole || row->core_out > out_bytes ? out_bytes : row->core_out;
  parts->command = header.command;
  parts->core_in = buffer + sizeof(header);
  parts->core_in_bytes = core_in;
  parts->uhw_in_bytes = in_bytes - core_in;
  parts->core_out_bytes = core_out;
  parts->uhw_out_bytes = out_bytes - core_out;
  if (out_bytes != 0) {
    if (in_bytes < sizeof(parts->response)) return EINVAL;
    std::memcpy(&parts->response, parts->core_in, sizeof(parts->response));
  }
  return 0;
}

// Extended form: a second header says how much is the core's and how much the provider's.
int SplitExtended(const std::uint8_t* buffer, std::size_t bytes, const ib_uverbs_cmd_hdr& header,
                  Parts* parts) {
  ib_uverbs_ex_cmd_hdr extended{};
  constexpr std::size_t kHeaders = sizeof(header) + sizeof(extended);
  if (bytes < kHeaders) return EINVAL;
  std::memcpy(&extended, buffer + sizeof(header), sizeof(extended));
  parts->core_in_bytes = std::size_t{header.in_words} * 8;
  parts->uhw_in_bytes = std::size_t{extended.provider_in_words} * 8;
  if (kHeaders + parts->core_in_bytes + parts->uhw_in_bytes != bytes) return EINVAL;
  parts->command = header.command;
  parts->core_in = buffer + kHeaders;
  parts->response = extended.response;
  parts->core_out_bytes = std::size_t{header.out_words} * 8;
  parts->uhw_out_bytes = std::size_t{extended.provider_out_words} * 8;
  return 0;
}

bool Fits(const Parts& parts) {
  return parts.core_in_bytes <= kAttrBytesMax && parts.uhw_in_bytes <= kAttrBytesMax &&
         parts.core_out_bytes <= kAttrBytesMax && parts.uhw_out_bytes <= kAttrBytesMax;
}

}  // namespace

int BuildInvokeWrite(const void* buffer, std::size_t bytes, std::uint32_t driver_id,
                     InvokeWrite* call) {
  ib_uverbs_cmd_hdr header{};
  if (buffer == nullptr || bytes < sizeof(header)) return EINVAL;
  std::memcpy(&header, buffer, sizeof(header));
  const auto* data = static_cast<const std::uint8_t*>(buffer);
  const bool is_extended = (header.command & IB_USER_VERBS_CMD_FLAG_EXTENDED) != 0;
  Parts parts;
  const int error = is_extended ? SplitExtended(data, bytes, header, &parts)
                                : SplitPlain(data, bytes, header, &parts);
  if (error != 0) return error;
  if (!Fits(parts)) return EINVAL;

  Builder builder(call, driver_id);
  builder.AddInput(UVERBS_ATTR_WRITE_CMD, &parts.command, sizeof(parts.command));
  builder.AddInput(UVERBS_ATTR_CORE_IN, parts.core_in, parts.core_in_bytes);
  builder.AddOutput(UVERBS_ATTR_CORE_OUT, parts.response, parts.core_out_bytes);
  builder.AddInput(UVERBS_ATTR_UHW_IN, parts.core_in + parts.core_in_bytes, parts.uhw_in_bytes);
  builder.AddOutput(UVERBS_ATTR_UHW_OUT, parts.response + parts.core_out_bytes,
                    parts.uhw_out_bytes);
  builder.Finish();
  return 0;
}

}  // namespace rb::shim
