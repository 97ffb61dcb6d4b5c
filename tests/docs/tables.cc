// Prints the tables of docs/ that are made from code, one by name. See generated_docs.py.
#include <array>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "agent/config/config.h"
#include "api/wire/limit_table.h"
#include "common/runtime/config.h"
#include "tests/docs/wire_tables.h"

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

struct Table {
  const char* name;
  std::string (*print)();
};
constexpr std::array kTables{
    Table{"agent-options", AgentOptions},   Table{"limits", Limits},
    Table{"wire-frames", WireFrames},       Table{"wire-pages", WirePages},
    Table{"wire-values", WireValues},       Table{"wire-example", WireExample},
    Table{"policy-example", PolicyExample},
};

}  // namespace
}  // namespace rb

int main(int argc, char** argv) {
  const std::string_view name = argc == 2 ? argv[1] : "";
  for (const rb::Table& table : rb::kTables) {
    if (name != table.name) continue;
    std::fputs(table.print().c_str(), stdout);
    return 0;
  }
  std::fputs("usage: docs_tables TABLE, one of:\n", stderr);
  for (const rb::Table& table : rb::kTables) std::fprintf(stderr, "  %s\n", table.name);
  return 2;
}
