#include "agent/rdma/nldev_decode.h"

#include <rdma/rdma_netlink.h>
#include <sys/sysmacros.h>

#include <array>
#include <cstdio>
#include <set>
#include <utility>

#include "agent/rdma/netlink_attributes.h"

namespace rb::agent::rdma {
namespace {

tl::unexpected<Error> Missing(std::string_view what) {
  return Fail(ErrorCode::kCorrupt, "read rdma netlink: an answer without " + std::string(what));
}

NodeType ToNodeType(std::uint32_t kernel) {
  // 6 is usNIC over UDP.
  constexpr std::array kTypes{NodeType::kUnknown, NodeType::kChannelAdapter, NodeType::kSwitch,
                              NodeType::kRouter,  NodeType::kRnic,           NodeType::kUsnic,
                              NodeType::kUsnic};
  return kernel < kTypes.size() ? kTypes.at(kernel) : NodeType::kUnknown;
}

PortState ToPortState(std::uint32_t kernel) {
  return kernel <= static_cast<std::uint32_t>(PortState::kActiveDefer)
             ? static_cast<PortState>(kernel)
             : PortState::kNoChange;
}

QpState ToQpState(std::uint32_t kernel) {
  return kernel <= static_cast<std::uint32_t>(QpState::kError) ? static_cast<QpState>(kernel)
                                                               : QpState::kUnknown;
}

Creator ToCreator(const NetlinkAttributes& row) {
  Creator creator{.pid = std::nullopt, .kernel_user = row.Text(RDMA_NLDEV_ATTR_RES_KERN_NAME)};
  if (const auto pid = row.Number32(RDMA_NLDEV_ATTR_RES_PID)) {
    creator.pid = static_cast<std::int32_t>(*pid);
  }
  return creator;
}

// Which attributes make a resource table: the table, its rows, and the number that names a row.
struct Table {
  std::uint16_t table;
  std::uint16_t row;
  std::uint16_t number;
};

// Calls `make(row, number)` for every row of every part. A row without a number is skipped: the
// kernel prints an empty one for a context of its own. Every port has a queue pair number 1, so the
// port belongs to what makes a row unique.
template <typename Row, typename Make>
Result<std::vector<Row>> DecodeTable(const NldevAnswer& answer, const Table& table, Make make) {
  std::vector<Row> rows;
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
  for (const std::string& message : answer) {
    RB_TRY(const auto top, NetlinkAttributes::Parse(message));
    RB_TRY(const auto tables, top.Nests(table.table));
    for (const NetlinkAttributes& part : tables) {
      RB_TRY(const auto entries, part.Nests(table.row));
      for (const NetlinkAttributes& entry : entries) {
        const auto number = entry.Number32(table.number);
        const auto port = entry.Number32(RDMA_NLDEV_ATTR_PORT_INDEX).value_or(0);
        if (number && seen.emplace(*number, port).second) rows.push_back(make(entry, *number));
      }
    }
  }
  return rows;
}

}  // namespace

std::string FormatGuid(std::uint64_t guid) {
  std::array<char, 20> text{};
  std::snprintf(text.data(), text.size(), "%04x:%04x:%04x:%04x",
                static_cast<unsigned>(guid >> 48 & 0xffff),
                static_cast<unsigned>(guid >> 32 & 0xffff),
                static_cast<unsigned>(guid >> 16 & 0xffff), static_cast<unsigned>(guid & 0xffff));
  return text.data();
}

Result<std::vector<DeviceRow>> DecodeDevices(const NldevAnswer& answer) {
  std::vector<DeviceRow> devices;
  for (const std::string& message : answer) {
    RB_TRY(const auto row, NetlinkAttributes::Parse(message));
    const auto index = row.Number32(RDMA_NLDEV_ATTR_DEV_INDEX);
    std::string name = row.Text(RDMA_NLDEV_ATTR_DEV_NAME);
    if (!index || name.empty()) return Missing("a device's index or name");
    devices.push_back({
        .index = *index,
        .name = std::move(name),
        .port_count = row.Number32(RDMA_NLDEV_ATTR_PORT_INDEX).value_or(0),
        .capability_flags = row.Number(RDMA_NLDEV_ATTR_CAP_FLAGS).value_or(0),
        .firmware = row.Text(RDMA_NLDEV_ATTR_FW_VERSION),
        .node_guid = row.Number(RDMA_NLDEV_ATTR_NODE_GUID).value_or(0),
        .sys_image_guid = row.Number(RDMA_NLDEV_ATTR_SYS_IMAGE_GUID).value_or(0),
        .node_type = ToNodeType(row.Number32(RDMA_NLDEV_ATTR_DEV_NODE_TYPE).value_or(0)),
        .protocol = row.Text(RDMA_NLDEV_ATTR_DEV_PROTOCOL),
    });
  }
  return devices;
}

Result<std::vector<PortRow>> DecodePorts(const NldevAnswer& answer) {
  std::vector<PortRow> ports;
  for (const std::string& message : answer) {
    RB_TRY(const auto row, NetlinkAttributes::Parse(message));
    const auto number = row.Number32(RDMA_NLDEV_ATTR_PORT_INDEX);
    if (!number) return Missing("a port's number");
    ports.push_back({
        .number = *number,
        .state = ToPortState(row.Number32(RDMA_NLDEV_ATTR_PORT_STATE).value_or(0)),
        .lid = row.Number32(RDMA_NLDEV_ATTR_LID).value_or(0),
        .sm_lid = row.Number32(RDMA_NLDEV_ATTR_SM_LID).value_or(0),
        .netdev = row.Text(RDMA_NLDEV_ATTR_NDEV_NAME),
    });
  }
  return ports;
}

Result<CharDevice> DecodeCharDevice(const NldevAnswer& answer) {
  if (answer.empty()) return Missing("a character device");
  RB_TRY(const auto row, NetlinkAttributes::Parse(answer.front()));
  const auto number = row.Number(RDMA_NLDEV_ATTR_CHARDEV);
  std::string name = row.Text(RDMA_NLDEV_ATTR_CHARDEV_NAME);
  if (!number || name.empty()) return Missing("a character device's number or name");
  return CharDevice{.name = std::move(name),
                    .major = gnu_dev_major(*number),
                    .minor = gnu_dev_minor(*number),
                    .driver_id = row.Number32(RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID)};
}

Result<NetnsMode> DecodeNetnsMode(const NldevAnswer& answer) {
  if (answer.empty()) return Missing("the system's settings");
  RB_TRY(const auto row, NetlinkAttributes::Parse(answer.front()));
  const bool shared = row.Number(RDMA_NLDEV_SYS_ATTR_NETNS_MODE).value_or(1) != 0;
  return shared ? NetnsMode::kShared : NetnsMode::kExclusive;
}

Result<std::vector<ContextRow>> DecodeContexts(const NldevAnswer& answer,
                                               const std::string& device) {
  constexpr Table kTable{RDMA_NLDEV_ATTR_RES_CTX, RDMA_NLDEV_ATTR_RES_CTX_ENTRY,
                         RDMA_NLDEV_ATTR_RES_CTXN};
  return DecodeTable<ContextRow>(
      answer, kTable, [&device](const NetlinkAttributes& row, std::uint32_t number) {
        return ContextRow{.device = device, .ctxn = number, .creator = ToCreator(row)};
      });
}

Result<std::vector<PdRow>> DecodePds(const NldevAnswer& answer) {
  constexpr Table kTable{RDMA_NLDEV_ATTR_RES_PD, RDMA_NLDEV_ATTR_RES_PD_ENTRY,
                         RDMA_NLDEV_ATTR_RES_PDN};
  return DecodeTable<PdRow>(answer, kTable, [](const NetlinkAttributes& row, std::uint32_t number) {
    return PdRow{.pdn = number,
                 .ctxn = row.Number32(RDMA_NLDEV_ATTR_RES_CTXN),
                 .users = row.Number(RDMA_NLDEV_ATTR_RES_USECNT).value_or(0),
                 .creator = ToCreator(row)};
  });
}

Result<std::vector<QpRow>> DecodeQps(const NldevAnswer& answer) {
  constexpr Table kTable{RDMA_NLDEV_ATTR_RES_QP, RDMA_NLDEV_ATTR_RES_QP_ENTRY,
                         RDMA_NLDEV_ATTR_RES_LQPN};
  return DecodeTable<QpRow>(answer, kTable, [](const NetlinkAttributes& row, std::uint32_t number) {
    const auto type = row.Number32(RDMA_NLDEV_ATTR_RES_TYPE).value_or(255);
    return QpRow{.lqpn = number,
                 .rqpn = row.Number32(RDMA_NLDEV_ATTR_RES_RQPN),
                 .type = static_cast<QpType>(type & 0xff),
                 .state = ToQpState(row.Number32(RDMA_NLDEV_ATTR_RES_STATE).value_or(255)),
                 .pdn = row.Number32(RDMA_NLDEV_ATTR_RES_PDN),
                 .port = row.Number32(RDMA_NLDEV_ATTR_PORT_INDEX),
                 .creator = ToCreator(row)};
  });
}

Result<std::vector<CqRow>> DecodeCqs(const NldevAnswer& answer) {
  constexpr Table kTable{RDMA_NLDEV_ATTR_RES_CQ, RDMA_NLDEV_ATTR_RES_CQ_ENTRY,
                         RDMA_NLDEV_ATTR_RES_CQN};
  return DecodeTable<CqRow>(answer, kTable, [](const NetlinkAttributes& row, std::uint32_t number) {
    return CqRow{.cqn = number,
                 .entries = row.Number32(RDMA_NLDEV_ATTR_RES_CQE).value_or(0),
                 .ctxn = row.Number32(RDMA_NLDEV_ATTR_RES_CTXN),
                 .creator = ToCreator(row)};
  });
}

Result<std::vector<MrRow>> DecodeMrs(const NldevAnswer& answer) {
  constexpr Table kTable{RDMA_NLDEV_ATTR_RES_MR, RDMA_NLDEV_ATTR_RES_MR_ENTRY,
                         RDMA_NLDEV_ATTR_RES_MRN};
  return DecodeTable<MrRow>(answer, kTable, [](const NetlinkAttributes& row, std::uint32_t number) {
    return MrRow{.mrn = number,
                 .bytes = row.Number(RDMA_NLDEV_ATTR_RES_MRLEN).value_or(0),
                 .pdn = row.Number32(RDMA_NLDEV_ATTR_RES_PDN),
                 .creator = ToCreator(row)};
  });
}

Result<std::vector<SrqRow>> DecodeSrqs(const NldevAnswer& answer) {
  constexpr Table kTable{RDMA_NLDEV_ATTR_RES_SRQ, RDMA_NLDEV_ATTR_RES_SRQ_ENTRY,
                         RDMA_NLDEV_ATTR_RES_SRQN};
  return DecodeTable<SrqRow>(answer, kTable,
                             [](const NetlinkAttributes& row, std::uint32_t number) {
                               return SrqRow{.srqn = number,
                                             .pdn = row.Number32(RDMA_NLDEV_ATTR_RES_PDN),
                                             .creator = ToCreator(row)};
                             });
}

Result<ResourceCounts> DecodeSummary(const NldevAnswer& answer) {
  ResourceCounts counts;
  for (const std::string& message : answer) {
    RB_TRY(const auto top, NetlinkAttributes::Parse(message));
    RB_TRY(const auto tables, top.Nests(RDMA_NLDEV_ATTR_RES_SUMMARY));
    for (const NetlinkAttributes& table : tables) {
      RB_TRY(const auto entries, table.Nests(RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY));
      for (const NetlinkAttributes& entry : entries) {
        std::string name = entry.Text(RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME);
        if (name.empty()) return Missing("a resource's name");
        counts[std::move(name)] = entry.Number(RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR).value_or(0);
      }
    }
  }
  return counts;
}

}  // namespace rb::agent::rdma
