// The node's REST API on the admin socket: one handler per route, thin over agent/control.
//
//   GET  /v1/node  /v1/devices  /v1/devices/{name}  /v1/processes  /v1/events?since=&limit=
//   POST /v1/leases             GET /v1/leases?tenant=&phase=
//   GET  /v1/leases/{id}        PATCH /v1/leases/{id}  (If-Match)
//   POST /v1/leases/{id}/renew  POST /v1/leases/{id}/revoke
//
// Refusals are problem+json (api/rest/node.h has the one table of codes). Who may connect is the
// socket's mode: root. Runs on: loop.
#pragma once

#include <chrono>

#include "agent/control/lease_service.h"
#include "agent/rest/node_bodies.h"
#include "common/runtime/http_server.h"
#include "common/runtime/router.h"

namespace rb::agent {

class NodeApi {
 public:
  struct Parts {
    BlockingPool& pool;
    rdma::Resources& resources;
    const Clock& clock;
    NodeView& node;
    LeaseTable& leases;
    EventLog& events;
    Attachments& attachments;
    LeaseService& service;
    CounterFamily& requests;  // by route, method and status
    HostFacts host;
  };

  explicit NodeApi(Parts parts);

  Task<HttpResponse> Handle(HttpRequest request);

 private:
  void AddRoutes();
  Task<HttpResponse> GetNode(HttpRequest request);
  Task<HttpResponse> ListDevices(HttpRequest request);
  Task<HttpResponse> GetDevice(HttpRequest request);
  Task<HttpResponse> ListProcesses(HttpRequest request);
  Task<HttpResponse> ListEvents(HttpRequest request);
  Task<HttpResponse> CreateLease(HttpRequest request);
  Task<HttpResponse> ListLeases(HttpRequest request);
  Task<HttpResponse> GetLease(HttpRequest request);
  Task<HttpResponse> PatchLease(HttpRequest request);
  Task<HttpResponse> RenewLease(HttpRequest request);
  Task<HttpResponse> RevokeLease(HttpRequest request);

  Task<rest::Device> ReadDevice(std::string name);
  HttpResponse LeaseResponse(unsigned status, const std::string& id, std::string token);

  Parts parts_;
  Router router_;
  BootTime started_at_;
};

}  // namespace rb::agent
