#!/usr/bin/env python3
"""Sends what a hostile or broken process might to the agent's tenant socket; one line a case.

    bad_frames.py SOCKET [--device NAME] [--foreign-device NAME] [--foreign-token TOKEN]

Without options it needs no lease. --device says that the caller holds a lease of that device: then
it also tries what only a lease holder can. Exit status: 1 when a case did not end as it must.
"""

import argparse
import os
import select
import sys

from tenant_socket import (ANSWER_S, ENTER, ENTERED, ERROR, GRANT, HELLO, OPEN, OPENED, Connection,
                           frame, report)

REQUESTS = {"ENTER": (ENTER, b"rbl_0"), "HELLO": (HELLO, b""), "OPEN": (OPEN, b"rxe0")}


def malformed(kind, text):
    """(what is wrong, packet, number of descriptors) for one type of request."""
    size = len(frame(kind, text))
    for cut in (1, 15, 16, size - 1):
        yield f"cut to {cut} bytes", frame(kind, text)[:cut], 0
    yield "one byte short, with a length that agrees", frame(kind, text, packet_bytes=size - 1), 0
    yield "one byte long, with a length that agrees", frame(kind, text, packet_bytes=size + 1), 0
    yield "4096 bytes long", frame(kind, text, packet_bytes=4096), 0
    yield "4097 bytes long", frame(kind, text, packet_bytes=4097), 0
    yield "length field 0", frame(kind, text, length=0), 0
    yield "length field 4294967295", frame(kind, text, length=0xFFFFFFFF), 0
    yield "version 0", frame(kind, text, version=0), 0
    yield "version 2", frame(kind, text, version=2), 0
    yield "another magic", frame(kind, text, magic=b"RBW2"), 0
    yield "a reserved field that is not 0", frame(kind, text, reserved=1 << 63), 0
    yield "a text without an end", frame(kind, b"x" * 96), 0
    yield "bytes behind the end of its text", frame(kind, b"x\0y"), 0
    for count in (1, 4, 5, 200):
        yield f"{count} descriptors", frame(kind, text), count


def not_requests():
    for kind in (0, ENTERED, GRANT, OPENED, ERROR, 8, 65535):
        yield f"a frame of type {kind}", frame(kind)
    yield "an HTTP request", b"GET /v1/leases HTTP/1.1\r\nHost: agent\r\n\r\n"
    yield "JSON", b'{"spec": {"tenant": "mallory"}}'
    yield "zeroes", bytes(120)
    yield "ones", b"\xff" * 120
    yield "noise", os.urandom(120)
    yield "an empty packet", b""
    yield "an empty token in ENTER", frame(ENTER)
    yield "an empty device in OPEN", frame(OPEN)
    yield "OPEN before HELLO", frame(OPEN, b"rxe0")


class Cases:
    def __init__(self, path):
        self.path = path
        self.failed = 0
        self.number = 0

    def check(self, held, text, got=""):
        self.number += 1
        if not report(held, text, got):
            self.failed += 1

    def closes(self, text, packet, fd_count=0, first=None):
        """The agent closes the connection; with `first` only after it has answered that."""
        with Connection(self.path) as connection:
            if first is not None and connection.call(first).kind is None:
                return self.check(False, text, "closed before it was sent")
            answer = connection.call(packet, [sys.stdin.fileno()] * fd_count)
        return self.check(answer.kind is None, text, answer)

    def refuses(self, text, packets, reason):
        """The last packet is refused with `reason`, and the connection goes on."""
        with Connection(self.path) as connection:
            for packet in packets:
                answer = connection.call(packet)
            again = connection.call(frame(HELLO))
        self.check(answer.reason == reason and again.kind is not None, text, f"{answer}, then {again}")


def run_malformed(cases):
    for name, (kind, text) in REQUESTS.items():
        for what, packet, fd_count in malformed(kind, text):
            cases.closes(f"{name}: {what}", packet, fd_count)
    for what, packet in not_requests():
        cases.closes(what, packet)
    for what, packet, fd_count in malformed(OPEN, b"rxe0"):
        cases.closes(f"after a HELLO, OPEN: {what}", packet, fd_count, first=frame(HELLO))


def run_pipelined(cases):
    with Connection(cases.path) as connection:
        for _ in range(3):
            connection.send(frame(HELLO))
        # Nothing is read: the first answer lies there when the second request is looked at.
        hang_up = select.poll()
        hang_up.register(connection.socket, select.POLLRDHUP)
        closed = bool(hang_up.poll(1000 * ANSWER_S))
    cases.check(closed, "three HELLOs at once, none of the answers read", "still open")


def run_silent(cases):
    with Connection(cases.path) as connection:
        answer = connection.receive()
    cases.check(answer.kind is None, "a connection that says nothing is closed", answer)


def run_refused(cases, arguments):
    cases.refuses("ENTER: a token of no lease", [frame(ENTER, b"rbl_" + b"0" * 64)], "bad_token")
    cases.refuses("ENTER: a token that is not ASCII", [frame(ENTER, b"\xff\xfe\x01")], "bad_token")
    cases.refuses("ENTER: the longest token", [frame(ENTER, b"t" * 95)], "bad_token")
    if arguments.foreign_token:
        cases.refuses("ENTER: another user's token", [frame(ENTER, arguments.foreign_token.encode())],
                      "wrong_uid")
    if not arguments.device:
        return
    hello = frame(HELLO)
    for what, device in (
        ("a device that is not there", b"mlx5_9"),
        ("a path", b"../../../dev/null"),
        ("an absolute path", b"/dev/infiniband/uverbs0"),
        ("a node's name", b"uverbs0"),
        ("the longest name", b"d" * 63),
        ("a name that is not ASCII", b"\xff\xfe\n"),
    ):
        cases.refuses(f"OPEN: {what}", [hello, frame(OPEN, device)], "device_not_leased")
    if arguments.foreign_device:
        cases.refuses("OPEN: a device of another lease",
                      [hello, frame(OPEN, arguments.foreign_device.encode())], "device_not_leased")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("socket")
    parser.add_argument("--device", help="one that the caller's lease has")
    parser.add_argument("--foreign-device", help="one that only another lease has")
    parser.add_argument("--foreign-token", help="of a lease for another user")
    arguments = parser.parse_args()
    cases = Cases(arguments.socket)
    run_malformed(cases)
    run_pipelined(cases)
    run_refused(cases, arguments)
    run_silent(cases)
    report(cases.failed == 0 and cases.number >= 60, f"{cases.number} bad frames", f"{cases.failed} failed")
    return 1 if cases.failed else 0


if __name__ == "__main__":
    sys.exit(main())
