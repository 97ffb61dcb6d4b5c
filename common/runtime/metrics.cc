#include "common/runtime/metrics.h"

#include <prometheus/check_names.h>
#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include "common/base/result.h"
#include "common/runtime/process_metrics.h"

namespace rb {
namespace {

using LabelMap = std::map<std::string, std::string>;

LabelMap ToMap(const MetricLabels& labels) { return {labels.begin(), labels.end()}; }

// The series of one family, up to the limit. Families are counted from pool threads too, hence the
// lock.
template <class Metric>
class Series {
 public:
  Series(prometheus::Family<Metric>& family, prometheus::Counter& dropped)
      : family_(family), dropped_(dropped) {}

  // Calls `use` with the series of these labels; makes it with `arguments` when it is new.
  template <class Use, class... Arguments>
  void With(const MetricLabels& labels, Use use, const Arguments&... arguments) {
    LabelMap key = ToMap(labels);
    const std::lock_guard lock(mutex_);
    auto found = series_.find(key);
    if (found == series_.end()) {
      if (series_.size() >= kSeriesPerFamilyMax) {
        dropped_.Increment();
        return;
      }
      Metric& made = family_.Add(key, arguments...);
      found = series_.emplace(std::move(key), &made).first;
    }
    use(*found->second);
  }

  void Remove(const MetricLabels& labels) {
    const std::lock_guard lock(mutex_);
    const auto found = series_.find(ToMap(labels));
    if (found == series_.end()) return;
    family_.Remove(found->second);
    series_.erase(found);
  }

 private:
  prometheus::Family<Metric>& family_;
  prometheus::Counter& dropped_;
  std::mutex mutex_;
  std::map<LabelMap, Metric*> series_;  // owned by family_; guarded by mutex_
};

class CounterFamilyImpl final : public CounterFamily {
 public:
  CounterFamilyImpl(prometheus::Family<prometheus::Counter>& family, prometheus::Counter& dropped)
      : series_(family, dropped) {}

  void Increment(const MetricLabels& labels, double by) override {
    RB_CHECK(by >= 0);
    series_.With(labels, [by](prometheus::Counter& counter) { counter.Increment(by); });
  }

 private:
  Series<prometheus::Counter> series_;
};

class GaugeFamilyImpl final : public GaugeFamily {
 public:
  GaugeFamilyImpl(prometheus::Family<prometheus::Gauge>& family, prometheus::Counter& dropped)
      : series_(family, dropped) {}

  void Set(const MetricLabels& labels, double value) override {
    series_.With(labels, [value](prometheus::Gauge& gauge) { gauge.Set(value); });
  }

  void Remove(const MetricLabels& labels) override { series_.Remove(labels); }

 private:
  Series<prometheus::Gauge> series_;
};

class HistogramFamilyImpl final : public HistogramFamily {
 public:
  HistogramFamilyImpl(prometheus::Family<prometheus::Histogram>& family,
                      prometheus::Counter& dropped, std::vector<double> bounds)
      : series_(family, dropped), bounds_(std::move(bounds)) {}

  void Observe(const MetricLabels& labels, double value) override {
    series_.With(
        labels, [value](prometheus::Histogram& histogram) { histogram.Observe(value); }, bounds_);
  }

 private:
  Series<prometheus::Histogram> series_;
  const std::vector<double> bounds_;
};

// Gathers what collectors write into families, as the serializer wants them.
class Writer final : public MetricsWriter {
 public:
  explicit Writer(std::vector<prometheus::MetricFamily>& families) : families_(families) {}

  void Counter(std::string_view name, std::string_view help, const MetricLabels& labels,
               double value) override {
    if (auto* metric = Add(name, help, labels, prometheus::MetricType::Counter)) {
      metric->counter.value = value;
    }
  }

  void Gauge(std::string_view name, std::string_view help, const MetricLabels& labels,
             double value) override {
    if (auto* metric = Add(name, help, labels, prometheus::MetricType::Gauge)) {
      metric->gauge.value = value;
    }
  }

  const std::map<std::string, double, std::less<>>& dropped() const { return dropped_; }

 private:
  // Nullptr when the family is full.
  prometheus::ClientMetric* Add(std::string_view name, std::string_view help,
                                const MetricLabels& labels, prometheus::MetricType type) {
    prometheus::MetricFamily& family = FamilyOf(name, help, type);
    if (family.metric.size() >= kSeriesPerFamilyMax) {
      ++dropped_[std::string(name)];
      return nullptr;
    }
    prometheus::ClientMetric& metric = family.metric.emplace_back();
    for (const auto& [label, value] : labels) {
      metric.label.push_back({.name = label, .value = value});
    }
    return &metric;
  }

  prometheus::MetricFamily& FamilyOf(std::string_view name, std::string_view help,
                                     prometheus::MetricType type) {
    const auto found = index_.find(name);
    if (found != index_.end()) {
      RB_CHECK(families_[found->second].type == type);
      return families_[found->second];
    }
    RB_CHECK(prometheus::CheckMetricName(std::string(name)));
    RB_CHECK(
        std::ranges::none_of(families_, [&](const auto& family) { return family.name == name; }));
    index_.emplace(std::string(name), families_.size());
    return families_.emplace_back(prometheus::MetricFamily{
        .name = std::string(name), .help = std::string(help), .type = type, .metric = {}});
  }

  std::vector<prometheus::MetricFamily>& families_;
  std::map<std::string, std::size_t, std::less<>> index_;
  std::map<std::string, double, std::less<>> dropped_;
};

}  // namespace

class MetricsRegistry::Impl {
 public:
  Impl()
      : dropped_(prometheus::BuildCounter()
                     .Name("metrics_dropped_series_total")
                     .Help("Updates dropped because their family has too many label sets.")
                     .Register(registry_)) {
    collectors_.emplace_back(CollectProcessMetrics);
  }

  CounterFamily& AddCounter(std::string_view name, std::string_view help) {
    auto& family =
        prometheus::BuildCounter().Name(Claim(name)).Help(std::string(help)).Register(registry_);
    return *counters_.emplace_back(std::make_unique<CounterFamilyImpl>(family, DroppedOf(name)));
  }

  GaugeFamily& AddGauge(std::string_view name, std::string_view help) {
    auto& family =
        prometheus::BuildGauge().Name(Claim(name)).Help(std::string(help)).Register(registry_);
    return *gauges_.emplace_back(std::make_unique<GaugeFamilyImpl>(family, DroppedOf(name)));
  }

  HistogramFamily& AddHistogram(std::string_view name, std::string_view help,
                                std::vector<double> bounds) {
    RB_CHECK(std::ranges::is_sorted(bounds));
    auto& family =
        prometheus::BuildHistogram().Name(Claim(name)).Help(std::string(help)).Register(registry_);
    return *histograms_.emplace_back(
        std::make_unique<HistogramFamilyImpl>(family, DroppedOf(name), std::move(bounds)));
  }

  void AddCollector(std::function<void(MetricsWriter&)> collector) {
    collectors_.push_back(std::move(collector));
  }

  std::string Text() {
    std::vector<prometheus::MetricFamily> collected;
    Writer writer(collected);
    for (const auto& collector : collectors_) collector(writer);
    for (const auto& [name, count] : writer.dropped()) DroppedOf(name).Increment(count);

    std::vector<prometheus::MetricFamily> families = registry_.Collect();
    for (auto& family : collected) {
      RB_CHECK(!names_.contains(family.name));
      families.push_back(std::move(family));
    }
    return prometheus::TextSerializer().Serialize(families);
  }

 private:
  std::string Claim(std::string_view name) {
    RB_CHECK(prometheus::CheckMetricName(std::string(name)));
    RB_CHECK(names_.emplace(name).second);
    return std::string(name);
  }

  // Adding the same labels again gives the same counter.
  prometheus::Counter& DroppedOf(std::string_view name) {
    return dropped_.Add({{"family", std::string(name)}});
  }

  prometheus::Registry registry_;
  prometheus::Family<prometheus::Counter>& dropped_;
  std::set<std::string, std::less<>> names_{"metrics_dropped_series_total"};
  std::vector<std::unique_ptr<CounterFamilyImpl>> counters_;
  std::vector<std::unique_ptr<GaugeFamilyImpl>> gauges_;
  std::vector<std::unique_ptr<HistogramFamilyImpl>> histograms_;
  std::vector<std::function<void(MetricsWriter&)>> collectors_;
};

MetricsRegistry::MetricsRegistry() : impl_(std::make_unique<Impl>()) {}

MetricsRegistry::~MetricsRegistry() = default;

CounterFamily& MetricsRegistry::AddCounter(std::string_view name, std::string_view help) {
  return impl_->AddCounter(name, help);
}

GaugeFamily& MetricsRegistry::AddGauge(std::string_view name, std::string_view help) {
  return impl_->AddGauge(name, help);
}

HistogramFamily& MetricsRegistry::AddHistogram(std::string_view name, std::string_view help,
                                               std::vector<double> bucket_bounds) {
  return impl_->AddHistogram(name, help, std::move(bucket_bounds));
}

void MetricsRegistry::AddCollector(std::function<void(MetricsWriter&)> collector) {
  impl_->AddCollector(std::move(collector));
}

std::string MetricsRegistry::Text() { return impl_->Text(); }

}  // namespace rb
