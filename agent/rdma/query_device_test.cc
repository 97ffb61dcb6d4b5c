#include "agent/rdma/query_device.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace rb::agent::rdma {
namespace {

TEST(CapabilityNamesTest, NamesKnownBitsInOrderAndNumbersOthers) {
  const std::uint64_t flags = (std::uint64_t{1} << 63) | (1U << 21) | (1U << 15) | (1U << 13) | 1U;

  EXPECT_EQ(CapabilityNames(flags),
            (std::vector<std::string>{"resize_max_wr", "srq_resize", "bit_15",
                                      "memory_management_extensions", "bit_63"}));
}

TEST(CapabilityNamesTest, NoFlagsNoNames) { EXPECT_TRUE(CapabilityNames(0).empty()); }

}  // namespace
}  // namespace rb::agent::rdma
