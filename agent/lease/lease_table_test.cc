#include "agent/lease/lease_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace rb::agent {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::size_t kQps = wire::Index(wire::Limit::kQps);

LeaseRecord Record(const std::string& id, rest::Phase phase = rest::Phase::kActive) {
  LeaseRecord record;
  record.metadata.name = id;
  record.metadata.created_at = "2026-01-01T00:00:00Z";
  record.spec.tenant = "t";
  record.phase = phase;
  record.expires_at = hours(1);
  return record;
}

LeaseRecord InCgroup(const std::string& id, const std::string& cgroup) {
  LeaseRecord record = Record(id);
  record.cgroup = cgroup;
  return record;
}

LeaseRecord ForUid(const std::string& id, uid_t uid) {
  LeaseRecord record = Record(id);
  record.spec.workload = {.token = false, .uid = uid, .cgroup = {}};
  return record;
}

std::vector<std::string> Ids(const std::vector<LeaseRecord*>& records) {
  std::vector<std::string> ids;
  for (const LeaseRecord* record : records) ids.push_back(record->id());
  return ids;
}

std::string IdOf(const LeaseRecord* record) { return record == nullptr ? "none" : record->id(); }

TEST(LeaseTableTest, FindsWhatWasInsertedAtAnAddressThatStays) {
  LeaseTable table;
  LeaseRecord& first = table.Insert(Record("lease-1"));
  for (int i = 2; i < 100; ++i) table.Insert(Record("lease-" + std::to_string(i)));

  EXPECT_EQ(table.Find("lease-1"), &first);
  EXPECT_EQ(std::as_const(table).Find("lease-1"), &first);
  EXPECT_EQ(table.Find("lease-"), nullptr);
  EXPECT_EQ(std::as_const(table).Find("lease-x"), nullptr);
}

TEST(LeaseTableTest, AnErasedLeaseIsGone) {
  LeaseTable table;
  table.Insert(Record("lease-1"));

  table.Erase("lease-1");
  table.Erase("never-was");

  EXPECT_EQ(table.Find("lease-1"), nullptr);
  EXPECT_THAT(table.All(), IsEmpty());
}

TEST(LeaseTableTest, FindsByCgroupAndByCgroupsBelowIt) {
  LeaseTable table;
  table.Insert(InCgroup("lease-1", "/a/lease-1"));
  table.Insert(InCgroup("lease-10", "/a/lease-10"));

  EXPECT_EQ(IdOf(table.FindByCgroup("/a/lease-1")), "lease-1");
  EXPECT_EQ(IdOf(table.FindByCgroup("/a/lease-1/sub/sub")), "lease-1");
  EXPECT_EQ(IdOf(table.FindByCgroup("/a/lease-10")), "lease-10");
}

TEST(LeaseTableTest, ACgroupThatOnlyStartsAlikeIsNotFound) {
  LeaseTable table;
  table.Insert(InCgroup("lease-1", "/a/lease-1"));
  table.Insert(InCgroup("lease-2", ""));

  EXPECT_EQ(IdOf(table.FindByCgroup("/a/lease-10")), "none");
  EXPECT_EQ(IdOf(table.FindByCgroup("/a/lease-10/sub")), "none");
  EXPECT_EQ(IdOf(table.FindByCgroup("/a")), "none");
  EXPECT_EQ(IdOf(table.FindByCgroup("/")), "none");
  EXPECT_EQ(IdOf(table.FindByCgroup("")), "none");
}

TEST(LeaseTableTest, OfNestedCgroupsTheInnermostIsFound) {
  // The first is a cgroup selector that happens to lie around the agent's own cgroups.
  LeaseTable table;
  table.Insert(InCgroup("lease-1", "/a"));
  table.Insert(InCgroup("lease-2", "/a/lease-2"));

  EXPECT_EQ(IdOf(table.FindByCgroup("/a/lease-2/sub")), "lease-2");
  EXPECT_EQ(IdOf(table.FindByCgroup("/a/other")), "lease-1");
}

TEST(LeaseTableTest, FindsByTokenHashButNotByNone) {
  LeaseTable table;
  table.Insert(Record("lease-0"));  // no token
  LeaseRecord record = Record("lease-1");
  record.token_hash = "ab12";
  table.Insert(std::move(record));

  EXPECT_EQ(IdOf(table.FindByTokenHash("ab12")), "lease-1");
  EXPECT_EQ(IdOf(table.FindByTokenHash("ab1")), "none");
  EXPECT_EQ(IdOf(table.FindByTokenHash("")), "none");
}

TEST(LeaseTableTest, FindsByUidOnlyWhereTheUidAloneIsTheSelector) {
  LeaseTable table;
  table.Insert(ForUid("lease-1", 7));
  LeaseRecord narrowed = Record("lease-2");
  narrowed.spec.workload = {.token = true, .uid = 8, .cgroup = {}};
  table.Insert(std::move(narrowed));
  LeaseRecord by_cgroup = InCgroup("lease-3", "/pod");
  by_cgroup.spec.workload = {.token = false, .uid = {}, .cgroup = "/pod"};
  table.Insert(std::move(by_cgroup));

  EXPECT_EQ(IdOf(table.FindByUid(7)), "lease-1");
  EXPECT_EQ(IdOf(table.FindByUid(8)), "none");
  EXPECT_EQ(IdOf(table.FindByUid(0)), "none");
}

TEST(LeaseTableTest, AnEndedLeaseAdmitsNobody) {
  LeaseTable table;
  for (const rest::Phase phase : {rest::Phase::kReleased, rest::Phase::kExpired,
                                  rest::Phase::kRevoked, rest::Phase::kFailed}) {
    LeaseRecord record = ForUid("lease-" + std::string(rest::Name(phase)), 7);
    record.phase = phase;
    record.cgroup = "/a/lease-1";
    record.token_hash = "ab12";
    EXPECT_FALSE(record.live());
    EXPECT_FALSE(record.accepts_processes());
    table.Insert(std::move(record));
  }

  EXPECT_EQ(IdOf(table.FindByCgroup("/a/lease-1")), "none");
  EXPECT_EQ(IdOf(table.FindByTokenHash("ab12")), "none");
  EXPECT_EQ(IdOf(table.FindByUid(7)), "none");
  EXPECT_THAT(table.Live(), IsEmpty());
  EXPECT_EQ(table.live_count(), 0U);
  EXPECT_THAT(table.Neighbours(), IsEmpty());
}

TEST(LeaseTableTest, OnlyAnActiveLeaseThatIsNotEndingTakesProcesses) {
  LeaseRecord active = Record("lease-1");
  const LeaseRecord draining = Record("lease-2", rest::Phase::kDraining);
  const LeaseRecord pending = Record("lease-3", rest::Phase::kPending);

  EXPECT_TRUE(active.accepts_processes());
  EXPECT_FALSE(draining.accepts_processes());
  EXPECT_FALSE(pending.accepts_processes());
  active.ending = true;
  EXPECT_FALSE(active.accepts_processes());
  EXPECT_TRUE(active.live());
}

TEST(LeaseTableTest, ListsInOrderOfCreation) {
  LeaseTable table;
  LeaseRecord late = Record("lease-a");
  late.metadata.created_at = "2026-01-01T00:00:02Z";
  table.Insert(std::move(late));
  table.Insert(Record("lease-c"));
  table.Insert(Record("lease-b", rest::Phase::kReleased));

  EXPECT_THAT(Ids(table.All()), ElementsAre("lease-b", "lease-c", "lease-a"));
  EXPECT_THAT(Ids(table.Live()), ElementsAre("lease-c", "lease-a"));
  EXPECT_EQ(table.live_count(), 2U);
}

TEST(LeaseTableTest, NeighboursAreTheOthers) {
  LeaseTable table;
  table.Insert(Record("lease-1"));
  LeaseRecord record = ForUid("lease-2", 7);
  record.grant.devices = {"d0"};
  record.spec.limits[wire::Limit::kQps] = 9;
  table.Insert(std::move(record));

  const auto neighbours = table.Neighbours("lease-1");

  ASSERT_EQ(neighbours.size(), 1U);
  EXPECT_EQ(neighbours[0].id, "lease-2");
  EXPECT_THAT(neighbours[0].devices, ElementsAre("d0"));
  EXPECT_EQ(neighbours[0].limits[wire::Limit::kQps], 9U);
  EXPECT_EQ(neighbours[0].workload.uid, 7U);
  EXPECT_EQ(table.Neighbours().size(), 2U);
}

TEST(LeaseTableTest, ALeaseExpiresAtItsTimeAndNotBefore) {
  LeaseTable table;
  table.Insert(Record("lease-1"));

  EXPECT_THAT(table.Expired(hours(1) - BootTime(1)), IsEmpty());
  EXPECT_THAT(table.Expired(hours(1)), ElementsAre("lease-1"));
  EXPECT_THAT(table.Expired(hours(2)), ElementsAre("lease-1"));
}

TEST(LeaseTableTest, WhatIsEndingOrEndedDoesNotExpireAgain) {
  LeaseTable table;
  table.Insert(Record("lease-1")).ending = true;
  table.Insert(Record("lease-2", rest::Phase::kExpired));

  EXPECT_THAT(table.Expired(hours(2)), IsEmpty());
}

TEST(LeaseTableTest, ForgetsTheOldestEndedLeasesAboveTheMaximum) {
  LeaseTable table;
  LeaseRecord live = Record("lease-live");
  live.metadata.created_at = "2025-01-01T00:00:00Z";
  table.Insert(std::move(live));
  for (std::size_t i = 0; i < kEndedLeasesMax; ++i) {
    table.Insert(Record("lease-" + std::to_string(1000 + i), rest::Phase::kReleased));
  }

  table.ForgetOldest();
  const std::size_t at_the_limit = table.All().size();
  table.Insert(Record("lease-9999", rest::Phase::kReleased));
  table.ForgetOldest();

  EXPECT_EQ(at_the_limit, kEndedLeasesMax + 1);
  EXPECT_EQ(table.All().size(), kEndedLeasesMax + 1);
  EXPECT_EQ(table.Find("lease-1000"), nullptr);
  EXPECT_NE(table.Find("lease-1001"), nullptr);
  EXPECT_NE(table.Find("lease-live"), nullptr);
}

TEST(LeaseTableTest, RevisionsOnlyGrow) {
  LeaseTable table;

  EXPECT_EQ(table.NextRevision(), 1U);
  EXPECT_EQ(table.NextRevision(), 2U);
  EXPECT_EQ(table.next_revision(), 3U);
}

// --- the checkpoint ---

LeaseRecord FullRecord() {
  LeaseRecord record = Record("lease-1", rest::Phase::kDraining);
  record.metadata.revision = 4;
  record.metadata.labels = {{"job", "train"}};
  record.spec.limits[wire::Limit::kQps] = 9;
  record.grant = {.devices = {"d0", "d1"},
                  .traffic_class = ClassFacts{.traffic_class = 104, .sl = 3}};
  record.token_hash = "ab12";
  record.expires_at = seconds(77);
  record.conditions = {{.type = "hidden_context", .message = "m", .since = "s"}};
  record.settled.used[kQps] = 5;
  record.settled.denials[kQps] = 2;
  record.settled.ops["send"] = {.messages = 3, .bytes = 30};
  record.settled.throttled_ns = 8;
  return record;
}

TEST(LeaseCheckpointTest, WhatALeaseIsComesBackAfterARestart) {
  LeaseTable before;
  before.NextRevision();
  before.Insert(FullRecord());
  before.Insert(Record("lease-2", rest::Phase::kReleased));
  LeaseTable after;

  const rest::Checkpoint checkpoint = before.ToCheckpoint("boot", 12);
  after.FromCheckpoint(checkpoint);

  EXPECT_EQ(checkpoint.boot_id, "boot");
  EXPECT_EQ(checkpoint.next_event, 12U);
  EXPECT_EQ(after.next_revision(), 2U);
  EXPECT_THAT(Ids(after.All()), ElementsAre("lease-1", "lease-2"));
  const LeaseRecord& lease = *after.Find("lease-1");
  const LeaseRecord saved = FullRecord();
  EXPECT_EQ(lease.metadata, saved.metadata);
  EXPECT_EQ(lease.spec, saved.spec);
  EXPECT_EQ(lease.phase, rest::Phase::kDraining);
  EXPECT_EQ(lease.grant, saved.grant);
  EXPECT_EQ(lease.token_hash, "ab12");
  EXPECT_EQ(lease.expires_at, seconds(77));
  EXPECT_EQ(lease.conditions, saved.conditions);
}

TEST(LeaseCheckpointTest, WhatWasCountedSurvivesAndWhatWasHeldDoesNot) {
  LeaseTable before;
  before.Insert(FullRecord());
  LeaseTable after;

  after.FromCheckpoint(before.ToCheckpoint("boot", 1));

  const rest::LeaseUsage& settled = after.Find("lease-1")->settled;
  EXPECT_EQ(settled.used[kQps], 0U);
  EXPECT_EQ(settled.denials[kQps], 2U);
  EXPECT_EQ(settled.ops.at("send"), (rest::OpUsage{.messages = 3, .bytes = 30}));
  EXPECT_EQ(settled.throttled_ns, 8U);
}

TEST(LeaseCheckpointTest, WhatThePageCountsIsSavedOnTopOfWhatWasSettled) {
  auto counters = CountersMemory::Create("rb-test");
  ASSERT_TRUE(counters) << counters.error().message;
  counters->page()->used[kQps] = 6;
  counters->page()->retired[0].denials[kQps] = 10;
  LeaseRecord record = FullRecord();
  record.counters.emplace(std::move(*counters));
  LeaseTable table;
  table.Insert(std::move(record));

  const rest::Checkpoint checkpoint = table.ToCheckpoint("boot", 1);

  ASSERT_EQ(checkpoint.leases.size(), 1U);
  EXPECT_EQ(checkpoint.leases[0].lease.status.usage.used[kQps], 6U);
  EXPECT_EQ(checkpoint.leases[0].lease.status.usage.denials[kQps], 12U);
}

TEST(LeaseCheckpointTest, ALeaseWithoutAClassHasNoneAfterwards) {
  LeaseRecord record = FullRecord();
  record.grant.traffic_class.reset();
  LeaseTable before;
  before.Insert(std::move(record));
  LeaseTable after;

  after.FromCheckpoint(before.ToCheckpoint("boot", 1));

  EXPECT_FALSE(after.Find("lease-1")->grant.traffic_class);
}

TEST(LeaseCheckpointTest, TheBestEffortClassIsStillAClass) {
  LeaseRecord record = FullRecord();
  record.grant.traffic_class = ClassFacts{};
  LeaseTable before;
  before.Insert(std::move(record));
  LeaseTable after;

  after.FromCheckpoint(before.ToCheckpoint("boot", 1));

  EXPECT_EQ(after.Find("lease-1")->grant.traffic_class, ClassFacts{});
}

TEST(LeaseCheckpointTest, RevisionsNeverGoBack) {
  LeaseTable table;
  for (int i = 0; i < 9; ++i) table.NextRevision();

  table.FromCheckpoint({.boot_id = {}, .next_revision = 5, .next_event = 1, .leases = {}});

  EXPECT_EQ(table.next_revision(), 10U);
}

// --- the body ---

TEST(ToBodyTest, ShowsTheLeaseAsItIsNow) {
  const rest::Lease body = ToBody(FullRecord(), "n1", seconds(70), true, 2);

  EXPECT_EQ(body.metadata.name, "lease-1");
  EXPECT_EQ(body.status.phase, rest::Phase::kDraining);
  EXPECT_EQ(body.status.node, "n1");
  ASSERT_EQ(body.status.devices.size(), 2U);
  EXPECT_EQ(body.status.devices[1],
            (rest::LeasedDevice{.name = "d1", .port = 1, .dscp = 26, .sl = 3}));
  EXPECT_EQ(body.status.enforcement.at("contexts"), "kernel");
  EXPECT_EQ(body.status.usage.processes, 2U);
  EXPECT_EQ(body.status.usage.denials[kQps], 2U);
  EXPECT_EQ(body.status.expires_in_seconds, 7U);
  EXPECT_EQ(body.status.conditions.size(), 1U);
  EXPECT_EQ(body.status.token, "");
}

TEST(ToBodyTest, TimeLeftIsNeverNegativeAndNothingForAnEndedLease) {
  const LeaseRecord live = Record("lease-1");
  const LeaseRecord ended = Record("lease-2", rest::Phase::kReleased);

  EXPECT_EQ(ToBody(live, "n", hours(1), true, 0).status.expires_in_seconds, 0U);
  EXPECT_EQ(ToBody(live, "n", hours(2), true, 0).status.expires_in_seconds, 0U);
  EXPECT_EQ(ToBody(live, "n", hours(1) - milliseconds(999), true, 0).status.expires_in_seconds, 0U);
  EXPECT_EQ(ToBody(ended, "n", seconds(0), true, 0).status.expires_in_seconds, 0U);
}

}  // namespace
}  // namespace rb::agent
