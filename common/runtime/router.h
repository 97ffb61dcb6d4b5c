// Finds the handler for a method and a path. Pure: no I/O.
//
//   Router router;
//   router.Add("GET", "/v1/leases/{id}", get_lease);
//   HttpServer server(loop, std::move(listener), [&router](HttpRequest r) { return
//   router.Handle(std::move(r)); });
//
// A segment in braces matches any one non-empty segment and becomes a decoded request parameter; a
// literal segment wins over a parameter. HEAD falls to GET. Trailing slashes are significant.
// Threading: Add() first, then read-only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/runtime/http_message.h"
#include "common/runtime/http_server.h"
#include "common/runtime/task.h"

namespace rb {

// What Find() says about a method and a path.
struct RouteMatch {
  const HttpHandler* handler = nullptr;  // owned by the router
  HttpFields params;
  std::string pattern;  // "/v1/leases/{id}": a metric label with few values
  std::string allow;    // when only the method is wrong: the methods of the path, "GET, HEAD, PUT"
  bool malformed = false;  // a broken percent escape in a parameter
};

class Router {
 public:
  // REQUIRES: the pattern starts with '/', and method and pattern are not registered yet (a bug
  // aborts).
  void Add(std::string_view method, std::string_view pattern, HttpHandler handler);

  RouteMatch Find(std::string_view method, std::string_view path) const;

  // Runs the handler, or answers 404 not_found, 405 method_not_allowed with Allow, 400 bad_request.
  Task<HttpResponse> Handle(HttpRequest request) const;

 private:
  struct Route {
    std::string method;
    std::string pattern;
    std::vector<std::string> segments;
    HttpHandler handler;
  };

  std::vector<Route> routes_;
};

}  // namespace rb
