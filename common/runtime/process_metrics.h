// The standard process_* metrics of this process, read from /proc at each scrape.
// Threading: stateless.
#pragma once

#include "common/runtime/metrics.h"

namespace rb {

// Leaves out what /proc does not tell.
void CollectProcessMetrics(MetricsWriter& writer);

}  // namespace rb
