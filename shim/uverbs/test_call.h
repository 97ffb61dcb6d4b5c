// Builds uverbs ioctls for tests.
#pragma once

#include <rdma/rdma_user_ioctl_cmds.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "shim/uverbs/verb_table.h"

namespace rb::shim {

class TestCall {
 public:
  TestCall(std::uint16_t object, std::uint16_t method, std::uint32_t driver = RDMA_DRIVER_RXE)
      : words_(3 + (2 * 32)) {
    header()->object_id = object;
    header()->method_id = method;
    header()->driver_id = driver;
    header()->length = sizeof(ib_uverbs_ioctl_hdr);
  }

  // A wrapped write command.
  static TestCall Write(std::uint64_t command, std::uint32_t driver = RDMA_DRIVER_RXE) {
    TestCall call(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE, driver);
    return call.Inline(UVERBS_ATTR_WRITE_CMD, command);
  }

  TestCall& Inline(std::uint16_t id, std::uint64_t value, std::uint16_t length = 8) {
    ib_uverbs_attr* attr = Add(id, length);
    std::memcpy(&attr->data, &value, sizeof(value));
    return *this;
  }

  template <typename T>
  TestCall& Pointer(std::uint16_t id, T* bytes) {
    static_assert(sizeof(T) > 8);
    Add(id, sizeof(T))->data = reinterpret_cast<std::uint64_t>(bytes);
    return *this;
  }

  // Outputs are always behind a pointer, however short.
  TestCall& Output(std::uint16_t id, void* bytes, std::uint16_t length) {
    Add(id, length)->data = reinterpret_cast<std::uint64_t>(bytes);
    return *this;
  }

  ib_uverbs_ioctl_hdr* header() { return reinterpret_cast<ib_uverbs_ioctl_hdr*>(words_.data()); }

 private:
  ib_uverbs_attr* Add(std::uint16_t id, std::uint16_t length) {
    ib_uverbs_attr* attr = &header()->attrs[header()->num_attrs++];
    attr->attr_id = id;
    attr->len = length;
    attr->flags = UVERBS_ATTR_F_MANDATORY;
    header()->length = static_cast<std::uint16_t>(header()->length + sizeof(*attr));
    return attr;
  }

  std::vector<std::uint64_t> words_;
};

}  // namespace rb::shim
