#!/usr/bin/env python3
"""Sends bad requests to the agent's admin API; one line a case.

    bad_requests.py SOCKET [--lease ID]

--lease names an active lease: then changing it is tried too. Nothing that is sent may change
anything. Exit status: 1 when a case did not end with the right status.
"""

import argparse
import json
import re
import socket
import sys

from tenant_socket import report

ANSWER_S = 40  # longer than the agent waits for the rest of a body
MIB = 1 << 20


def spec(**fields):
    return json.dumps({"spec": {"tenant": "mallory", **fields}})


def raw(path, request):
    """Sends the bytes and returns everything that comes back."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(ANSWER_S)
        connection.connect(path)
        try:
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
        except (BrokenPipeError, ConnectionResetError):
            pass  # refused before it was read: the answer says why
        answer = b""
        try:
            while chunk := connection.recv(65536):
                answer += chunk
        except ConnectionResetError:
            pass
        return answer


def http(method, target, body="", **headers):
    body = body if isinstance(body, bytes) else body.encode()
    lines = [f"{method} {target} HTTP/1.1", "Host: agent", "Connection: close"]
    if body:
        headers.setdefault("Content_Type", "application/json")
        lines.append(f"Content-Length: {len(body)}")
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def post(body, **headers):
    return http("POST", "/v1/leases", body, **headers)


BODIES = [
    # what, body, status and code
    ("nothing", "", "415 unsupported_media_type"),
    ("not JSON", "tenant=mallory", "400 malformed"),
    ("truncated JSON", spec()[:-3], "400 malformed"),
    ("JSON and more", spec() + "x", "400 malformed"),
    ("bytes that are not UTF-8", b'{"spec": {"tenant": "\xff\xfe"}}', "400 malformed"),
    ("a key twice", '{"spec": {"tenant": "a", "tenant": "b"}}', "400 malformed"),
    ("nested 100 deep", "[" * 100 + "]" * 100, "400 malformed"),
    ("nested a million deep", "[" * 1_000_000, "400 malformed"),
    ("a list", "[]", "400 wrong_type"),
    ("null", "null", "400 wrong_type"),
    ("a number", "7", "400 wrong_type"),
    ("an empty object", "{}", "400 missing_field"),
    ("no tenant", '{"spec": {}}', "400 missing_field"),
    ("an unknown field", spec(qp=4), "400 unknown_field"),
    ("an unknown limit", spec(limits={"queue_pairs": 4}), "400 unknown_field"),
    ("an unknown field outside", '{"spec": {"tenant": "a"}, "kind": "lease"}', "400 unknown_field"),
    ("status in a request", '{"spec": {"tenant": "a"}, "status": {}}', "400 unknown_field"),
    ("a name in metadata", '{"metadata": {"name": "lease-1"}, "spec": {"tenant": "a"}}',
     "400 unknown_field"),
    ("a tenant that is a number", '{"spec": {"tenant": 7}}', "400 wrong_type"),
    ("a limit that is a text", spec(limits={"qps": "4"}), "400 wrong_type"),
    ("a limit that is a fraction", spec(limits={"qps": 1.5}), "400 wrong_type"),
    ("a limit that is null", spec(limits={"qps": None}), "400 wrong_type"),
    ("limits that are a list", spec(limits=[4]), "400 wrong_type"),
    ("a permission that is a number", spec(raw=1), "400 wrong_type"),
    ("a negative limit", spec(limits={"qps": -1}), "400 out_of_range"),
    ("a negative rate", spec(rate={"max_bits_per_second": -8000}), "400 out_of_range"),
    ("a limit beyond 64 bits", '{"spec": {"tenant": "a", "limits": {"qps": 18446744073709551616}}}',
     "400 out_of_range"),
    ("a rate below the least", spec(rate={"max_bits_per_second": 7}), "400 out_of_range"),
    ("a ttl of 0", spec(ttl_seconds=0), "400 out_of_range"),
    ("a ttl above a week", spec(ttl_seconds=604801), "400 out_of_range"),
    ("a permission that does not exist", spec(raw="maybe"), "400 out_of_range"),
    ("a tenant's name with a space", '{"spec": {"tenant": "a b"}}', "400 out_of_range"),
    ("a tenant's name that is too long", json.dumps({"spec": {"tenant": "a" * 64}}),
     "400 out_of_range"),
    ("an empty tenant", '{"spec": {"tenant": ""}}', "400 out_of_range"),
    ("17 devices", spec(devices={"count": 17}), "400 out_of_range"),
    ("no device", spec(devices={"count": 0}), "400 out_of_range"),
    ("one device named twice", spec(devices={"names": ["rxe0", "rxe0"]}), "400 out_of_range"),
    ("a device's name with a slash", spec(devices={"names": ["../rxe0"]}), "400 out_of_range"),
    ("a cgroup with dots", spec(workload={"cgroup": "/../../etc"}), "400 out_of_range"),
    ("the root cgroup", spec(workload={"cgroup": "/"}), "400 out_of_range"),
    ("a uid beyond 32 bits", spec(workload={"uid": 4294967296}), "400 out_of_range"),
    ("two selectors", spec(workload={"token": True, "cgroup": "/a"}), "400 out_of_range"),
    ("no selector", spec(workload={"token": False}), "400 missing_field"),
    ("another node's name", spec(node="elsewhere"), "422 semantic"),
    ("a device that is not here", spec(devices={"names": ["mlx5_9"]}), "404 no_device"),
    ("more devices than there are", spec(devices={"count": 16}), "404 no_device"),
]

REQUESTS = [
    ("an unknown path", http("GET", "/v1/lease"), "404 not_found"),
    ("the root", http("GET", "/"), "404 not_found"),
    ("another version", http("GET", "/v2/leases"), "404 not_found"),
    ("a path with dots", http("GET", "/v1/leases/../../etc/passwd"), "404 not_found"),
    ("a broken escape in a path", http("GET", "/v1/leases/%zz"), "400 bad_request"),
    ("an unknown lease", http("GET", "/v1/leases/lease-0"), "404 not_found"),
    ("an unknown device", http("GET", "/v1/devices/mlx5_9"), "404 not_found"),
    ("DELETE of all leases", http("DELETE", "/v1/leases"), "405 method_not_allowed"),
    ("PUT of a lease", http("PUT", "/v1/leases/lease-0", "{}"), "405 method_not_allowed"),
    ("GET of an action", http("GET", "/v1/leases/lease-0/revoke"), "405 method_not_allowed"),
    ("a method nobody knows", http("BREW", "/v1/node"), "405 method_not_allowed"),
    ("an unknown query parameter", http("GET", "/v1/leases?tennant=a"), "400 unknown_field"),
    ("a query parameter twice", http("GET", "/v1/events?since=1&since=2"), "400 malformed"),
    ("a negative number in a query", http("GET", "/v1/events?since=-1"), "400 out_of_range"),
    ("a limit above the most", http("GET", "/v1/events?limit=4097"), "400 out_of_range"),
    ("a phase that does not exist", http("GET", "/v1/leases?phase=activ"), "400 out_of_range"),
    ("a form instead of JSON", post(spec(), Content_Type="application/x-www-form-urlencoded"),
     "415 unsupported_media_type"),
    ("renew of an unknown lease", http("POST", "/v1/leases/lease-0/renew"), "404 not_found"),
    ("revoke of an unknown lease", http("POST", "/v1/leases/lease-0/revoke"), "404 not_found"),
    ("PATCH of an unknown lease", http("PATCH", "/v1/leases/lease-0", "{}", If_Match="*"),
     "404 not_found"),
    ("a body of 1 MiB and one byte", post(b" " * (MIB + 1)), "413 body_too_large"),
    ("a body that says it is 1 TiB", http("POST", "/v1/leases", Content_Type="application/json",
                                          Content_Length=1 << 40), "413 body_too_large"),
    ("a length that is negative", http("POST", "/v1/leases", Content_Length=-1), "400 bad_request"),
    ("a length that is no number", http("POST", "/v1/leases", Content_Length="ten"), "400 bad_request"),
    ("a length and chunks", http("POST", "/v1/leases", spec(), Transfer_Encoding="chunked"),
     "400 bad_request"),
    ("an unknown transfer coding", http("POST", "/v1/leases", Transfer_Encoding="gzip"),
     "501 not_implemented"),
    ("headers of 17 KiB", http("GET", "/v1/node", X_Long="x" * (17 << 10)), "431 headers_too_large"),
    ("no Host", b"GET /v1/node HTTP/1.1\r\nConnection: close\r\n\r\n", "400 bad_request"),
    ("HTTP/9.9", b"GET /v1/node HTTP/9.9\r\nHost: agent\r\n\r\n", "400 bad_request"),
    ("not HTTP", b"HELLO agent\r\n\r\n", "400 bad_request"),
    ("zeroes", bytes(64) + b"\r\n\r\n", "400 bad_request"),
    ("TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(64), "400 bad_request"),
]


def changes(lease):
    """Bad changes of a lease that is there."""
    target = f"/v1/leases/{lease}"
    patch = {"Content_Type": "application/merge-patch+json"}
    for what, body, want in (
        ("not JSON", "{", "400 malformed"),
        ("a list", "[]", "400 wrong_type"),
        ("an unknown field", '{"spec": {"qps": 4}}', "400 unknown_field"),
        ("a wrong type", '{"spec": {"limits": {"qps": "4"}}}', "400 wrong_type"),
        ("a negative limit", '{"spec": {"limits": {"qps": -4}}}', "400 out_of_range"),
        ("a limit above the NIC's", '{"spec": {"limits": {"qps": 2147483647}}}', "409 capacity_qps"),
        ("another tenant", '{"spec": {"tenant": "mallory"}}', "400 immutable"),
        ("no tenant", '{"spec": {"tenant": null}}', "400 missing_field"),
        ("a class that is not here", '{"spec": {"traffic_class": "gold"}}', "422 semantic"),
        ("another phase", '{"status": {"phase": "revoked"}}', "400 unknown_field"),
    ):
        yield f"PATCH: {what}", http("PATCH", target, body, If_Match="*", **patch), want
    yield "PATCH without If-Match", http("PATCH", target, "{}", **patch), "428 precondition_required"
    yield ("PATCH of a revision that never was",
           http("PATCH", target, "{}", If_Match='"999999"', **patch), "412 stale")
    yield ("PATCH with an If-Match that is no ETag",
           http("PATCH", target, "{}", If_Match="7", **patch), "400 malformed")
    yield "renew for 0 s", http("POST", target + "/renew", '{"ttl_seconds": 0}'), "400 out_of_range"
    yield ("renew for more than a week", http("POST", target + "/renew", '{"ttl_seconds": 604801}'),
           "400 out_of_range")
    yield "renew, an unknown field", http("POST", target + "/renew", '{"ttl": 9}'), "400 unknown_field"
    yield ("revoke with a negative grace", http("POST", target + "/revoke", '{"grace_ms": -1}'),
           "400 out_of_range")
    yield "revoke, an unknown field", http("POST", target + "/revoke", '{"force": true}'), "400 unknown_field"
    yield "revoke, not JSON", http("POST", target + "/revoke", "now"), "400 malformed"


def verdict(answer):
    """"404 not_found" of a problem, the bare status of anything else, "closed" of nothing."""
    status = re.match(rb"HTTP/1\.[01] (\d{3})", answer)
    if status is None:
        return "closed" if not answer else f"{answer[:40]!r}"
    text = status.group(1).decode()
    try:
        problem = json.loads(answer.split(b"\r\n\r\n", 1)[1])
    except (ValueError, IndexError):
        return text
    if problem.get("status") != int(text):
        return f"{text} with a body that says {problem.get('status')}"
    return f"{text} {problem.get('code')}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("socket")
    parser.add_argument("--lease", help="the id of an active lease")
    arguments = parser.parse_args()
    cases = [(f"POST of a lease: {what}", post(body), want) for what, body, want in BODIES]
    cases += REQUESTS
    if arguments.lease:
        cases += changes(arguments.lease)
    failed = 0
    for what, request, want in cases:
        got = verdict(raw(arguments.socket, request))
        failed += not report(got == want, f"{what}: {want}", got)
    # A body that never comes whole: no answer may act on the half of it.
    half = http("POST", "/v1/leases", spec())[:-5]
    got = verdict(raw(arguments.socket, half))
    failed += not report(got in ("closed", "400 bad_request", "408 request_timeout"),
                         "a body that ends before its length", got)
    report(failed == 0 and len(cases) >= 60, f"{len(cases) + 1} bad requests", f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
