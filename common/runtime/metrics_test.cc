#include "common/runtime/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "common/runtime/process_metrics.h"

namespace rb {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The value of the sample whose line starts with `series`; NaN without one.
double ValueOf(const std::string& text, const std::string& series) {
  const std::size_t at = text.find("\n" + series + " ");
  if (at == std::string::npos) return std::nan("");
  return std::stod(text.substr(at + series.size() + 2));
}

TEST(MetricsTest, CountersAddUpPerLabelSet) {
  MetricsRegistry registry;
  CounterFamily& denials = registry.AddCounter("rdma_agent_denials_total", "Refused calls.");

  denials.Increment({{"tenant", "a"}});
  denials.Increment({{"tenant", "a"}}, 2);
  denials.Increment({{"tenant", "b"}});

  const std::string text = registry.Text();
  EXPECT_THAT(text, HasSubstr("# HELP rdma_agent_denials_total Refused calls.\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE rdma_agent_denials_total counter\n"));
  EXPECT_EQ(ValueOf(text, R"(rdma_agent_denials_total{tenant="a"})"), 3);
  EXPECT_EQ(ValueOf(text, R"(rdma_agent_denials_total{tenant="b"})"), 1);
}

TEST(MetricsTest, TheOrderOfLabelsDoesNotMakeAnotherSeries) {
  MetricsRegistry registry;
  CounterFamily& family = registry.AddCounter("x_total", "x");

  family.Increment({{"a", "1"}, {"b", "2"}});
  family.Increment({{"b", "2"}, {"a", "1"}});

  EXPECT_EQ(ValueOf(registry.Text(), R"(x_total{a="1",b="2"})"), 2);
}

TEST(MetricsTest, GaugesSetAndForget) {
  MetricsRegistry registry;
  GaugeFamily& gauge = registry.AddGauge("leases", "Leases.");

  gauge.Set({{"node", "n1"}}, 5);
  gauge.Set({{"node", "n1"}}, 4);
  EXPECT_EQ(ValueOf(registry.Text(), R"(leases{node="n1"})"), 4);

  gauge.Remove({{"node", "n1"}});
  gauge.Remove({{"node", "never there"}});
  EXPECT_THAT(registry.Text(), Not(HasSubstr("leases{")));
}

TEST(MetricsTest, HistogramsCountIntoCumulativeBuckets) {
  MetricsRegistry registry;
  HistogramFamily& seconds = registry.AddHistogram("revoke_seconds", "Time.", {0.1, 1});

  seconds.Observe({}, 0.05);
  seconds.Observe({}, 0.5);
  seconds.Observe({}, 5);

  const std::string text = registry.Text();
  EXPECT_EQ(ValueOf(text, "revoke_seconds_count"), 3);
  EXPECT_EQ(ValueOf(text, R"(revoke_seconds_bucket{le="0.1"})"), 1);
  EXPECT_EQ(ValueOf(text, R"(revoke_seconds_bucket{le="1"})"), 2);
  EXPECT_EQ(ValueOf(text, R"(revoke_seconds_bucket{le="+Inf"})"), 3);
}

TEST(MetricsTest, LabelValuesCannotForgeASample) {
  MetricsRegistry registry;
  CounterFamily& family = registry.AddCounter("x_total", "x");

  family.Increment({{"tenant", "a\"} 1\nforged_total 99\\"}});

  const std::string text = registry.Text();
  EXPECT_THAT(text, HasSubstr(R"(x_total{tenant="a\"} 1\nforged_total 99\\"} 1)"));
  EXPECT_THAT(text, Not(HasSubstr("\nforged_total")));
}

TEST(MetricsTest, CollectorsWriteCurrentValuesAtEachScrape) {
  MetricsRegistry registry;
  double bytes = 10;
  registry.AddCollector([&](MetricsWriter& writer) {
    writer.Counter("bytes_total", "Bytes.", {{"device", "rxe0"}}, bytes);
    writer.Gauge("active", "Active.", {}, 1);
    writer.Counter("bytes_total", "Bytes.", {{"device", "rxe1"}}, 7);
  });

  EXPECT_EQ(ValueOf(registry.Text(), R"(bytes_total{device="rxe0"})"), 10);
  bytes = 25;

  const std::string text = registry.Text();
  EXPECT_EQ(ValueOf(text, R"(bytes_total{device="rxe0"})"), 25);
  EXPECT_EQ(ValueOf(text, R"(bytes_total{device="rxe1"})"), 7);
  EXPECT_EQ(ValueOf(text, "active"), 1);
  // One header a family, whatever the order of writing.
  EXPECT_EQ(text.find("# TYPE bytes_total"), text.rfind("# TYPE bytes_total"));
}

TEST(MetricsTest, LargeCountersKeepTheirDigits) {
  MetricsRegistry registry;
  registry.AddCollector(
      [](MetricsWriter& writer) { writer.Counter("bytes_total", "b", {}, 4503599627370497.0); });

  EXPECT_EQ(ValueOf(registry.Text(), "bytes_total"), 4503599627370497.0);
}

TEST(MetricsTest, AFamilyTakesTheMostSeriesAndCountsWhatItDrops) {
  MetricsRegistry registry;
  CounterFamily& family = registry.AddCounter("x_total", "x");
  for (std::size_t i = 0; i < kSeriesPerFamilyMax; ++i) {
    family.Increment({{"i", std::to_string(i)}});
  }
  const std::string last = R"(x_total{i=")" + std::to_string(kSeriesPerFamilyMax - 1) + R"("})";
  EXPECT_EQ(ValueOf(registry.Text(), last), 1);

  family.Increment({{"i", "one more"}});
  family.Increment({{"i", "0"}});  // an old series still counts

  const std::string text = registry.Text();
  EXPECT_THAT(text, Not(HasSubstr("one more")));
  EXPECT_EQ(ValueOf(text, R"(metrics_dropped_series_total{family="x_total"})"), 1);
  EXPECT_EQ(ValueOf(text, R"(x_total{i="0"})"), 2);
}

TEST(MetricsTest, RemovingASeriesMakesRoom) {
  MetricsRegistry registry;
  GaugeFamily& family = registry.AddGauge("x", "x");
  for (std::size_t i = 0; i < kSeriesPerFamilyMax; ++i) family.Set({{"i", std::to_string(i)}}, 1);

  family.Remove({{"i", "0"}});
  family.Set({{"i", "new"}}, 1);

  EXPECT_EQ(ValueOf(registry.Text(), R"(x{i="new"})"), 1);
}

TEST(MetricsTest, CollectorsAreLimitedToo) {
  MetricsRegistry registry;
  registry.AddCollector([](MetricsWriter& writer) {
    for (std::size_t i = 0; i < kSeriesPerFamilyMax + 2; ++i) {
      writer.Gauge("g", "g", {{"i", std::to_string(i)}}, 1);
    }
  });

  EXPECT_EQ(ValueOf(registry.Text(), R"(metrics_dropped_series_total{family="g"})"), 2);
}

TEST(MetricsDeathTest, ATakenOrInvalidNameIsABug) {
  MetricsRegistry registry;
  registry.AddCounter("x_total", "x");

  EXPECT_DEATH(registry.AddGauge("x_total", "x"), "check failed");
  EXPECT_DEATH(registry.AddGauge("not valid", "x"), "check failed");
}

TEST(ProcessMetricsTest, DescribeThisProcess) {
  MetricsRegistry registry;
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();

  const std::string text = registry.Text();

  EXPECT_GE(ValueOf(text, "process_cpu_seconds_total"), 0);
  EXPECT_GT(ValueOf(text, "process_resident_memory_bytes"), 100'000);
  EXPECT_GE(ValueOf(text, "process_open_fds"), 3);
  EXPECT_GE(ValueOf(text, "process_max_fds"), ValueOf(text, "process_open_fds"));
  EXPECT_NEAR(ValueOf(text, "process_start_time_seconds"), now, 600);
}

}  // namespace
}  // namespace rb
