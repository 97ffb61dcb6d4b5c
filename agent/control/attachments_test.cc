#include "agent/control/attachments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "common/runtime/process.h"
#include "common/runtime/timer.h"
#include "tests/support/run_task.h"

namespace rb::agent {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A process that waits to be killed.
class Child {
 public:
  Child() : pid_(::fork()) {
    if (pid_ != 0) return;
    while (true) ::pause();
  }
  ~Child() { Kill(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  void Kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_;
};

Attachment Of(pid_t pid, const std::string& lease) {
  Attachment attachment;
  attachment.pid = pid;
  attachment.lease = lease;
  return attachment;
}

class AttachmentsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    attachments_.OnExit([this](const Attachment& gone) {
      exited_.push_back(gone.lease);
      loop_.Stop();
    });
  }

  void Add(const Child& child, const std::string& lease, std::uint64_t start = 1) {
    Attachment attachment = Of(child.pid(), lease);
    attachment.start_time_ticks = start;
    attachments_.Add(std::move(attachment), OpenPidfd(child.pid()).value());
  }

  // A few turns of the loop: what is ready happens.
  void Turn() { test::RunTask(loop_, SleepFor(loop_, milliseconds(5))); }

  Loop loop_;
  Attachments attachments_{loop_};
  std::vector<std::string> exited_;
};

TEST_F(AttachmentsTest, TellsOnceWhenAProcessHasExited) {
  Child child;
  Add(child, "lease-1");
  Turn();
  EXPECT_THAT(exited_, IsEmpty());

  child.Kill();
  loop_.Run();

  EXPECT_THAT(exited_, ElementsAre("lease-1"));
  EXPECT_THAT(attachments_.List(), IsEmpty());
}

TEST_F(AttachmentsTest, TheSameProcessIsListedOnce) {
  const Child child;
  Add(child, "lease-1");
  Add(child, "lease-1");

  EXPECT_EQ(attachments_.CountOf("lease-1"), 1U);
}

TEST_F(AttachmentsTest, APidThatWasReusedIsAnotherProcess) {
  const Child child;
  Add(child, "lease-1", 1);
  Add(child, "lease-1", 2);

  EXPECT_EQ(attachments_.CountOf("lease-1"), 2U);
}

TEST_F(AttachmentsTest, DropForgetsOneLeaseAndCallsNobody) {
  Child first;
  Child second;
  Add(first, "lease-1");
  Add(second, "lease-2");
  Turn();

  attachments_.Drop("lease-1");
  first.Kill();
  Turn();

  EXPECT_THAT(exited_, IsEmpty());
  EXPECT_EQ(attachments_.CountOf("lease-1"), 0U);
  EXPECT_EQ(attachments_.CountOf("lease-2"), 1U);
}

TEST_F(AttachmentsTest, WhatIsDroppedBeforeItIsWatchedIsNotWatched) {
  Child child;
  Add(child, "lease-1");

  attachments_.Drop("lease-1");
  child.Kill();
  Turn();

  EXPECT_THAT(exited_, IsEmpty());
}

TEST_F(AttachmentsTest, AProcessThatExitedBeforeIsToldAtOnce) {
  Child child;
  UniqueFd pidfd = OpenPidfd(child.pid()).value();
  child.Kill();

  attachments_.Add(Of(1, "lease-1"), std::move(pidfd));
  loop_.Run();

  EXPECT_THAT(exited_, ElementsAre("lease-1"));
}

}  // namespace
}  // namespace rb::agent
