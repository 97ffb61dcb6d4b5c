// The API's resources as tables for people. Threading: pure functions.
#pragma once

#include <string>
#include <vector>

#include "api/rest/lease.h"
#include "api/rest/node.h"

namespace rb::cli {

std::string ShowLeases(const std::vector<rest::Lease>& leases);
std::string ShowDevices(const std::vector<rest::Device>& devices);
std::string ShowNode(const rest::Node& node);
std::string ShowProcesses(const std::vector<rest::Process>& processes);
std::string ShowEvents(const std::vector<rest::Event>& events);

// Everything about one.
std::string DescribeLease(const rest::Lease& lease);
std::string DescribeDevice(const rest::Device& device);

// What `lease create` answers: the token is in it, and never shown again.
std::string ShowCreated(const rest::Lease& lease);

}  // namespace rb::cli
