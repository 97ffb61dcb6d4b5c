// One HTTP request and one response, as plain values: what handlers, router, server and client
// share.
//
// No parser is here (http_server.cc, http_client.cc) and no Beast type appears in any header.
// Threading: values.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rb {

// In the order of appearance; a name may occur more than once.
using HttpFields = std::vector<std::pair<std::string, std::string>>;

// Who is at the other end of a Unix socket, as the kernel saw it at connect (SO_PEERCRED).
struct PeerCredentials {
  pid_t pid = 0;
  uid_t uid = 0;
  gid_t gid = 0;
  bool operator==(const PeerCredentials&) const = default;
};

struct Peer {
  std::optional<PeerCredentials> credentials;  // Unix sockets only
  std::string address;                         // "192.0.2.1:40000", "[::1]:40000", or "unix"
  bool operator==(const Peer&) const = default;
};

struct HttpRequest {
  std::string method;  // upper case as sent: "GET"
  std::string target;  // as sent: "/v1/leases?tenant=a%20b"
  std::string path;  // the target before '?', still percent-encoded: the router decodes by segment
  HttpFields query;  // percent-decoded; '+' is a space
  HttpFields headers;  // names in lower case
  std::string body;
  Peer peer;
  HttpFields params;  // percent-decoded path parameters, set by Router

  // The first value of the name, or nullptr. `name` is in lower case for headers.
  const std::string* Header(std::string_view name) const;
  const std::string* Query(std::string_view name) const;
  const std::string* Param(std::string_view name) const;
};

struct HttpResponse {
  unsigned status = 200;
  HttpFields headers;  // Content-Length, Connection and Date are the server's business
  std::string body;

  // The first value of the name (any case), or nullptr.
  const std::string* Header(std::string_view name) const;
};

// An application/problem+json answer (RFC 9457):
// {"type":"about:blank","title","status","code","detail"}. `code` is a stable lower-case name; an
// empty detail is left out.
HttpResponse ProblemResponse(unsigned status, std::string_view code, std::string_view detail);

// "Not Found" for 404; "Unknown" for a status without a name here.
std::string_view StatusTitle(unsigned status);

// Decodes %XX; `plus_is_space` for query strings. Nullopt for a broken escape or a NUL byte.
std::optional<std::string> PercentDecode(std::string_view text, bool plus_is_space);

// Encodes everything but unreserved characters (RFC 3986), so the result fits a path segment or a
// query.
std::string PercentEncode(std::string_view text);

// Splits `target` into path and decoded query. Nullopt unless it is in origin form ("/...") and
// clean.
struct HttpTarget {
  std::string path;
  HttpFields query;
  bool operator==(const HttpTarget&) const = default;
};
std::optional<HttpTarget> ParseTarget(std::string_view target);

}  // namespace rb
