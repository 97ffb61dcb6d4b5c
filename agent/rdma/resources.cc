#include "agent/rdma/resources.h"

namespace rb::agent::rdma {

std::string_view Name(QpState state) {
  switch (state) {
    case QpState::kReset:
      return "reset";
    case QpState::kInit:
      return "init";
    case QpState::kRtr:
      return "rtr";
    case QpState::kRts:
      return "rts";
    case QpState::kSqd:
      return "sqd";
    case QpState::kSqe:
      return "sqe";
    case QpState::kError:
      return "error";
    case QpState::kUnknown:
      return "unknown";
  }
  return "unknown";
}

std::string_view Name(QpType type) {
  switch (type) {
    case QpType::kSmi:
      return "smi";
    case QpType::kGsi:
      return "gsi";
    case QpType::kRc:
      return "rc";
    case QpType::kUc:
      return "uc";
    case QpType::kUd:
      return "ud";
    case QpType::kRawIpv6:
      return "raw_ipv6";
    case QpType::kRawEthertype:
      return "raw_ethertype";
    case QpType::kRawPacket:
      return "raw_packet";
    case QpType::kXrcInitiator:
      return "xrc_initiator";
    case QpType::kXrcTarget:
      return "xrc_target";
    case QpType::kDriver:
      return "driver";
  }
  return "other";
}

}  // namespace rb::agent::rdma
