// The fake agent as a program, so that real verbs programs in a lab guest can be tried under the
// shim alone. Commands come on standard input, one a line; answers go to standard output:
//
//   limit NAME VALUE     rate INDEX BYTES_PER_SECOND BURST_BYTES     class TCLASS SL
//   flag NAME on|off     state active|draining|revoked               dump
//
// usage: shim_fake_agent SOCKET NAME:NODE...

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cstdio>
#include <iostream>
#include <map>
#include <sstream>
#include <string>

#include "tests/integration/shim/fake_agent.h"

namespace rb::testing {
namespace {

const std::map<std::string, std::uint32_t> kFlags{{"accounting", wire::kPolicyAccounting},
                                                  {"class", wire::kPolicyHasClass},
                                                  {"refuse_class", wire::kPolicyRefuseClass},
                                                  {"deny_unknown", wire::kPolicyDenyUnknown},
                                                  {"deny_raw", wire::kPolicyDenyRaw},
                                                  {"deny_devx", wire::kPolicyDenyDevx},
                                                  {"paced", wire::kPolicyPaced}};
const std::map<std::string, wire::PolicyState> kStates{{"active", wire::PolicyState::kActive},
                                                       {"draining", wire::PolicyState::kDraining},
                                                       {"revoked", wire::PolicyState::kRevoked}};

void SetFlag(wire::PolicyPage* page, std::uint32_t flag, bool on) {
  page->flags = on ? page->flags | flag : page->flags & ~flag;
}

void Dump(const wire::CountersPage& page) {
  for (const wire::LimitRow& row : wire::kLimitTable) {
    std::uint64_t denials = 0;
    for (const wire::CounterSlot& slot : page.slots) denials += slot.denials[Index(row.limit)];
    std::cout << row.name << " used " << page.used[Index(row.limit)] << " denied " << denials
              << "\n";
  }
  wire::CounterSlot sum{};
  for (const wire::CounterSlot& slot : page.slots) {
    for (std::size_t i = 0; i < wire::kOpCount; ++i) {
      sum.ops[i].messages += slot.ops[i].messages;
      sum.ops[i].bytes += slot.ops[i].bytes;
    }
    sum.throttled_ns += slot.throttled_ns;
    sum.throttled_posts += slot.throttled_posts;
    sum.class_rewrites += slot.class_rewrites;
  }
  for (std::size_t i = 0; i < wire::kOpCount; ++i) {
    std::cout << wire::kOpNames[i] << " messages " << sum.ops[i].messages << " bytes "
              << sum.ops[i].bytes << "\n";
  }
  std::cout << "throttled_ns " << sum.throttled_ns << " posts " << sum.throttled_posts
            << " class_rewrites " << sum.class_rewrites << "\n";
}

void Obey(FakeAgent* agent, const std::string& line) {
  std::istringstream words(line);
  std::string command;
  std::string name;
  words >> command;
  if (command == "limit") {
    std::uint64_t value = 0;
    words >> name >> value;
    for (const wire::LimitRow& row : wire::kLimitTable) {
      if (name == row.name) {
        agent->Patch([&](wire::PolicyPage* page) { page->limits[Index(row.limit)] = value; });
      }
    }
  } else if (command == "rate") {
    std::size_t index = 0;
    wire::DeviceRate rate{};
    words >> index >> rate.rate_bytes_per_second >> rate.burst_bytes;
    agent->Patch([&](wire::PolicyPage* page) {
      page->devices.at(index) = rate;
      SetFlag(page, wire::kPolicyPaced, true);
    });
  } else if (command == "class") {
    unsigned traffic_class = 0;
    unsigned sl = 0;
    words >> traffic_class >> sl;
    agent->Patch([&](wire::PolicyPage* page) {
      page->traffic_class = static_cast<std::uint8_t>(traffic_class);
      page->sl = static_cast<std::uint8_t>(sl);
      SetFlag(page, wire::kPolicyHasClass, true);
    });
  } else if (command == "flag") {
    std::string on;
    words >> name >> on;
    agent->Patch([&](wire::PolicyPage* page) { SetFlag(page, kFlags.at(name), on == "on"); });
  } else if (command == "state") {
    words >> name;
    agent->Patch([&](wire::PolicyPage* page) {
      page->state = static_cast<std::uint32_t>(kStates.at(name));
    });
  } else if (command == "dump") {
    Dump(agent->counters());
    std::cout << "hellos " << agent->hellos() << " opens " << agent->opens() << "\n";
  }
  std::cout << "done" << std::endl;
}

int Run(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: shim_fake_agent SOCKET NAME:NODE...\n";
    return 2;
  }
  FakeAgent agent(argv[1]);
  for (int i = 2; i < argc; ++i) {
    const std::string text = argv[i];
    const std::size_t colon = text.find(':');
    FakeDevice device{.name = text.substr(0, colon), .node = text.substr(colon + 1), .file = {}};
    device.file = "/dev/infiniband/" + device.node;
    struct stat status{};
    if (::stat(device.file.c_str(), &status) != 0) {
      std::perror(device.file.c_str());
      return 1;
    }
    device.major = major(status.st_rdev);
    device.minor = minor(status.st_rdev);
    agent.AddDevice(device);
  }
  agent.Start();
  std::string line;
  while (std::getline(std::cin, line)) Obey(&agent, line);
  return 0;
}

}  // namespace
}  // namespace rb::testing

int main(int argc, char** argv) { return rb::testing::Run(argc, argv); }
