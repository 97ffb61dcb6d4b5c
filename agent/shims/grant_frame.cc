#include "agent/shims/grant_frame.h"

#include <algorithm>
#include <cerrno>
#include <string>

#include "api/wire/text.h"

namespace rb::agent {
namespace {

std::uint32_t ErrnoOf(const Error& error) {
  switch (error.code) {
    case ErrorCode::kNotFound:
      return ENOENT;
    case ErrorCode::kExhausted:
      return ENOMEM;
    case ErrorCode::kDenied:
    case ErrorCode::kConflict:
      return EACCES;
    case ErrorCode::kTimeout:
      return ETIMEDOUT;
    case ErrorCode::kUnavailable:
      return EAGAIN;
    default:
      return EIO;
  }
}

wire::GrantedDevice MakeDevice(const std::string& name, const rdma::Inventory& inventory) {
  wire::GrantedDevice granted{};
  wire::SetText(&granted.name, name.c_str());
  const rdma::Device* device = inventory.Find(name);
  if (device == nullptr) return granted;
  wire::SetText(&granted.node, device->uverbs.c_str());
  granted.major = device->major;
  granted.minor = device->minor;
  granted.driver_id = device->driver_id;
  return granted;
}

}  // namespace

wire::GrantReply MakeGrant(const LeaseRecord& lease, const rdma::Inventory& inventory,
                           std::uint32_t sequence) {
  auto reply = wire::MakeFrame<wire::GrantReply>(wire::FrameType::kGrant, sequence);
  wire::SetText(&reply.lease_id, lease.id().c_str());
  wire::SetText(&reply.tenant, lease.spec.tenant.c_str());
  const std::size_t count = std::min(lease.grant.devices.size(), wire::kLeaseDevicesMax);
  reply.device_count = static_cast<std::uint32_t>(count);
  for (std::size_t i = 0; i < count; ++i) {
    reply.devices[i] = MakeDevice(lease.grant.devices[i], inventory);
  }
  return reply;
}

wire::ErrorReply MakeErrorFrame(const Error& error, std::uint32_t sequence) {
  auto reply = wire::MakeFrame<wire::ErrorReply>(wire::FrameType::kError, sequence);
  reply.errno_value = ErrnoOf(error);
  const std::string reason = error.reason.empty() ? std::string(Name(error.code)) : error.reason;
  wire::SetText(&reply.reason, reason.c_str());
  wire::SetText(&reply.message, error.message.c_str());
  return reply;
}

}  // namespace rb::agent
