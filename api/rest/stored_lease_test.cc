#include "api/rest/stored_lease.h"

#include <gtest/gtest.h>

namespace rb::rest {
namespace {

Checkpoint FullCheckpoint() {
  Checkpoint checkpoint{.boot_id = "b", .next_revision = 8, .next_event = 9, .leases = {}};
  StoredLease stored;
  stored.lease.metadata.name = "lease-0";
  stored.lease.spec.tenant = "alice";
  stored.lease.status.phase = Phase::kActive;
  stored.lease.status.usage.ops = {{"send", {.messages = 1, .bytes = 2}}};
  stored.token_hash = "00ff";
  stored.expires_boot_ns = 18446744073709551615U;
  checkpoint.leases = {stored, stored};
  return checkpoint;
}

TEST(CheckpointTest, WhatIsDumpedIsRead) {
  for (const Checkpoint& checkpoint : {Checkpoint{}, FullCheckpoint()}) {
    const auto again = ParseCheckpoint(DumpCheckpoint(checkpoint));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(*again, checkpoint);
  }
}

TEST(CheckpointTest, EveryCutIsCorrupt) {
  const std::string text = DumpCheckpoint(FullCheckpoint());
  for (std::size_t length = 0; length < text.size(); ++length) {
    const auto checkpoint = ParseCheckpoint(std::string_view(text).substr(0, length));
    ASSERT_FALSE(checkpoint) << length;
    EXPECT_EQ(checkpoint.error().code, ErrorCode::kCorrupt);
  }
}

TEST(CheckpointTest, EveryFlippedBitIsCorrupt) {
  const std::string text = DumpCheckpoint(FullCheckpoint());
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string damaged = text;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x04);
    const auto checkpoint = ParseCheckpoint(damaged);
    ASSERT_FALSE(checkpoint) << at;
    EXPECT_EQ(checkpoint.error().code, ErrorCode::kCorrupt);
  }
}

TEST(CheckpointTest, AnotherFormatIsCorruptAndSaysSo) {
  const auto checkpoint = ParseCheckpoint("rdma-agent-checkpoint-2 0 0\n{}\n");

  ASSERT_FALSE(checkpoint);
  EXPECT_EQ(checkpoint.error().message,
            "checkpoint: does not start with \"rdma-agent-checkpoint-1 \"");
}

}  // namespace
}  // namespace rb::rest
