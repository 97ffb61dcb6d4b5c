#include "api/rest/node.h"

#include <gtest/gtest.h>

namespace rb::rest {
namespace {

Device FullDevice() {
  Device device;
  device.name = "rxe0";
  device.uverbs = "uverbs0";
  device.driver = "rxe";
  device.node_guid = "5054:00ff:fe12:3456";
  device.firmware = "1.2";
  device.pci_address = "0000:3b:00.0";
  device.numa_node = -1;
  device.limits = {{"max_qp", 65536}, {"max_mr_size", 18446744073709551615U}};
  device.capabilities = {"rc", "ud"};
  device.ports = {{.number = 1,
                   .state = "active",
                   .link_layer = "ethernet",
                   .rate_bits_per_second = 10'000'000'000,
                   .active_mtu_bytes = 1024,
                   .max_mtu_bytes = 4096,
                   .netdev = "eth0",
                   .gids = {{.index = 1, .gid = "fe80::1", .type = "RoCE v2", .netdev = "eth0"}}}};
  device.kernel_objects = {{"qp", 2}};
  device.leases = {"lease-0"};
  return device;
}

TEST(NodeJsonTest, WhatIsDumpedIsRead) {
  const Node node{.name = "n1",
                  .version = "0.1.0",
                  .boot_id = "b",
                  .kernel = "6.1.0",
                  .netns_mode = "shared",
                  .device_count = 2,
                  .active_leases = 1,
                  .uptime_seconds = 60,
                  .traffic_classes = {{.name = "storage", .dscp = 63, .sl = 15}},
                  .enforcement = {{"contexts", "kernel"}},
                  .warnings = {"no rdma cgroup controller"}};

  const auto again = ParseNode(DumpNode(node));

  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, node);
}

TEST(DeviceJsonTest, WhatIsDumpedIsRead) {
  const auto again = ParseDevice(DumpDevice(FullDevice()));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, FullDevice());

  Device software = FullDevice();
  software.pci_address.clear();
  software.numa_node.reset();
  const auto list = ParseDeviceList(DumpDeviceList({FullDevice(), software}));
  ASSERT_TRUE(list) << list.error().message;
  EXPECT_EQ(*list, (std::vector<Device>{FullDevice(), software}));
}

TEST(DeviceJsonTest, NumaNodeIsASignedInteger) {
  EXPECT_EQ(ParseDevice(R"({"name":"d","numa_node":2147483647})")->numa_node, 2147483647);
  EXPECT_EQ(ParseDevice(R"({"name":"d","numa_node":2147483648})").error().reason, "out_of_range");
  EXPECT_EQ(ParseDevice(R"({"name":"d","numa_node":-2147483649})").error().reason, "out_of_range");
  EXPECT_EQ(ParseDevice(R"({"name":"d","numa_node":0.5})").error().reason, "wrong_type");
}

TEST(ProcessJsonTest, ANameThatIsNotUtf8SurvivesAsReplacement) {
  const Process process{.pid = 4711,
                        .uid = 1000,
                        .command = "ib_\xFFwrite",
                        .lease = "lease-0",
                        .tenant = "alice",
                        .open_files = 1,
                        .attached_at = "now"};

  const auto again = ParseProcessList(DumpProcessList({process}));

  ASSERT_TRUE(again) << again.error().message;
  Process expected = process;
  expected.command = "ib_\xEF\xBF\xBDwrite";
  EXPECT_EQ(*again, std::vector<Process>{expected});
}

TEST(EventJsonTest, WhatIsDumpedIsRead) {
  const Event event{.sequence = 7,
                    .time = "now",
                    .type = "denied",
                    .reason = "limit_qps",
                    .lease = "lease-0",
                    .tenant = "alice",
                    .message = "qps: 3 of 2",
                    .details = {{"limit", "2"}, {"used", "2"}}};

  const auto again = ParseEventList(DumpEventList({event, Event{}}));

  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, (std::vector<Event>{event, Event{}}));
}

TEST(ListJsonTest, RefusesAListWithoutItems) {
  EXPECT_EQ(ParseEventList("{}").error().reason, "missing_field");
  EXPECT_EQ(ParseEventList("[]").error().reason, "wrong_type");
  EXPECT_EQ(ParseEventList(R"({"items":{}})").error().reason, "wrong_type");
  EXPECT_EQ(ParseEventList(R"({"items":[{}]})").error().message,
            "/items/0/sequence: required, but missing");
}

}  // namespace
}  // namespace rb::rest
