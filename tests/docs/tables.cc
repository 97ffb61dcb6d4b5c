// Prints the tables of docs/ that are made from code, one by name. See generated_docs.py.
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "agent/config/config.h"
#include "api/wire/limit_table.h"
#include "common/runtime/config.h"

namespace rb {
namespace {

std::string AgentOptions() {
  agent::Config config;
  ConfigSchema schema("rdma-agent", "RDMA_AGENT", "");
  agent::Describe(&config, &schema);
  return schema.Markdown();
}

std::string_view Name(wire::Level level) {
  return level == wire::Level::kKernel ? "kernel" : "shim";
}

std::string Limits() {
  std::string text = "| limit | what | default | one past it | level |\n|---|---|---|---|---|\n";
  for (const wire::LimitRow& row : wire::kLimitTable) {
    text += "| `" + std::string(row.name) + "` | " + row.title + " | " +
            std::to_string(row.default_value) + " | `" + strerrorname_np(row.refusal_errno) +
            "` | " + std::string(Name(row.level)) + " |\n";
  }
  return text;
}

}  // namespace
}  // namespace rb

int main(int argc, char** argv) {
  const std::string_view table = argc == 2 ? argv[1] : "";
  if (table == "agent-options") {
    std::fputs(rb::AgentOptions().c_str(), stdout);
  } else if (table == "limits") {
    std::fputs(rb::Limits().c_str(), stdout);
  } else {
    std::fputs("usage: docs_tables agent-options|limits\n", stderr);
    return 2;
  }
  return 0;
}
