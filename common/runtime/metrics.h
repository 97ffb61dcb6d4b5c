// Metrics in the Prometheus text format.
//
// Two ways in. Families are for things that happen (requests, denials): the owner keeps the
// reference and counts. Collectors are for things that are (leases, bytes read from the kernel):
// they are called at each scrape and write current values, so that nothing has to be kept in step.
//
// Every family holds at most kSeriesPerFamilyMax label sets; further ones are dropped and counted
// in metrics_dropped_series_total{family}. Label values are escaped by the serializer. The registry
// adds process_cpu_seconds_total, process_resident_memory_bytes, process_open_fds, process_max_fds
// and process_start_time_seconds.
//
// Threading: families are thread-safe. The registry and Text() run on: loop (collectors are called
// there).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rb {

inline constexpr std::size_t kSeriesPerFamilyMax = 10'000;

// Label names and values. Names are ours and valid; values may be anything.
using MetricLabels = std::vector<std::pair<std::string, std::string>>;

class CounterFamily {
 public:
  virtual ~CounterFamily() = default;
  // REQUIRES: by >= 0.
  virtual void Increment(const MetricLabels& labels, double by = 1) = 0;
};

class GaugeFamily {
 public:
  virtual ~GaugeFamily() = default;
  virtual void Set(const MetricLabels& labels, double value) = 0;
  // Forgets a series whose subject is gone.
  virtual void Remove(const MetricLabels& labels) = 0;
};

class HistogramFamily {
 public:
  virtual ~HistogramFamily() = default;
  virtual void Observe(const MetricLabels& labels, double value) = 0;
};

// Given to collectors. Series of one name may come in any order; the first help text counts.
class MetricsWriter {
 public:
  virtual ~MetricsWriter() = default;
  virtual void Counter(std::string_view name, std::string_view help, const MetricLabels& labels,
                       double value) = 0;
  virtual void Gauge(std::string_view name, std::string_view help, const MetricLabels& labels,
                     double value) = 0;
};

class MetricsRegistry {
 public:
  MetricsRegistry();
  ~MetricsRegistry();
  MetricsRegistry(const MetricsRegistry&) = delete;
  MetricsRegistry& operator=(const MetricsRegistry&) = delete;

  // The references live as long as the registry.
  // REQUIRES: a valid metric name that is not taken (a bug aborts); ascending bucket bounds.
  CounterFamily& AddCounter(std::string_view name, std::string_view help);
  GaugeFamily& AddGauge(std::string_view name, std::string_view help);
  HistogramFamily& AddHistogram(std::string_view name, std::string_view help,
                                std::vector<double> bucket_bounds);

  // Called at every Text(), in the order of registration.
  void AddCollector(std::function<void(MetricsWriter&)> collector);

  // Everything, in the text format 0.0.4.
  std::string Text();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// The Content-Type of Text().
inline constexpr std::string_view kMetricsContentType = "text/plain; version=0.0.4; charset=utf-8";

}  // namespace rb
