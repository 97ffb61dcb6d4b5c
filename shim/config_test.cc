#include "shim/config.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace rb::shim {
namespace {

TEST(ParseLogTest, ReadsLevelAndFile) {
  Config config;

  EXPECT_TRUE(ParseLog("trace:/tmp/shim.log", &config));

  EXPECT_EQ(config.log_level, LogLevel::kTrace);
  EXPECT_STREQ(config.log_path.data(), "/tmp/shim.log");
}

TEST(ParseLogTest, ALevelAloneGoesToStandardError) {
  Config config;

  EXPECT_TRUE(ParseLog("error", &config));

  EXPECT_EQ(config.log_level, LogLevel::kError);
  EXPECT_EQ(config.log_path[0], '\0');
}

TEST(ParseLogTest, RefusesOtherWordsAndStaysOff) {
  Config config;

  EXPECT_FALSE(ParseLog("verbose", &config));
  EXPECT_FALSE(ParseLog("", &config));
  EXPECT_FALSE(ParseLog("inf", &config));

  EXPECT_EQ(config.log_level, LogLevel::kOff);
}

TEST(LoadConfigTest, DefaultsToTheAgentsPlace) {
  ::unsetenv("RDMA_LEASE");
  ::unsetenv("RDMA_AGENT_SOCKET");
  Config config;

  LoadConfig(&config);

  EXPECT_STREQ(config.socket.data(), kDefaultSocket);
  EXPECT_EQ(config.token[0], '\0');
}

TEST(LoadConfigTest, ATokenThatDoesNotFitIsNoToken) {
  const std::string longest(wire::kTokenBytes - 1, 'a');
  Config fits;
  Config cut;

  ::setenv("RDMA_LEASE", longest.c_str(), 1);
  LoadConfig(&fits);
  ::setenv("RDMA_LEASE", (longest + "a").c_str(), 1);
  LoadConfig(&cut);
  ::unsetenv("RDMA_LEASE");

  EXPECT_EQ(std::string(fits.token.data()), longest);
  EXPECT_EQ(cut.token[0], '\0');
}

}  // namespace
}  // namespace rb::shim
