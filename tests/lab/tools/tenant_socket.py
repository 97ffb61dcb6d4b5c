"""The agent's tenant socket as a program that may send anything sees it. Layout: docs/wire.md."""

import array
import os
import socket
import struct

ENTER, ENTERED, HELLO, GRANT, OPEN, OPENED, ERROR = range(1, 8)
MAGIC = b"RBW1"
VERSION = 1
HEADER = struct.Struct("<4sHHII")
TEXT_BYTES = {ENTER: 96, HELLO: 96, OPEN: 64}
FRAME_BYTES_MAX = 4096
ANSWER_S = 20  # a guest under emulation is slow


def frame(kind, text=b"", *, magic=MAGIC, version=VERSION, length=None, sequence=1, reserved=0,
          packet_bytes=None):
    """A request; `packet_bytes` cuts it or fills it with zeroes, `length` is what its header says."""
    width = TEXT_BYTES.get(kind, 96)
    body = text.ljust(width, b"\0")[:width] + struct.pack("<Q", reserved)
    size = HEADER.size + len(body) if packet_bytes is None else packet_bytes
    head = HEADER.pack(magic, version, kind, size if length is None else length, sequence)
    return (head + body).ljust(size, b"\0")[:size]


class Answer:
    """What came back: `kind` is a frame type, or None when the connection was closed."""

    def __init__(self, packet, fds):
        self.packet = packet
        self.fds = fds
        self.kind = HEADER.unpack_from(packet)[2] if len(packet) >= HEADER.size else None

    @property
    def reason(self):
        return self.packet[24:56].split(b"\0", 1)[0].decode() if self.kind == ERROR else ""

    def __str__(self):
        if self.kind is None:
            return "closed"
        names = {ENTERED: "ENTERED", GRANT: "GRANT", OPENED: "OPENED", ERROR: "ERROR"}
        return (names.get(self.kind, f"type {self.kind}") + " " + self.reason).strip()


class Connection:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(ANSWER_S)
        self.socket.connect(path)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, packet, fds=()):
        """Sending to a connection that the agent has closed is no error: the answer tells."""
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        try:
            self.socket.sendmsg([packet], rights)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def receive(self):
        space = socket.CMSG_SPACE(4 * array.array("i").itemsize)
        try:
            packet, ancillary, _, _ = self.socket.recvmsg(FRAME_BYTES_MAX, space)
        except ConnectionResetError:
            return Answer(b"", [])
        fds = array.array("i")
        for _, kind, data in ancillary:
            if kind == socket.SCM_RIGHTS:
                fds.frombytes(data[: len(data) - len(data) % fds.itemsize])
        return Answer(packet, list(fds))

    def call(self, packet, fds=()):
        self.send(packet, fds)
        answer = self.receive()
        for fd in answer.fds:
            os.close(fd)
        return answer


def report(held, text, got=""):
    """One line for the caller: ok or FAILED, a tab, what was checked."""
    print(("ok" if held else "FAILED") + "\t" + text + (f": got {got}" if not held else ""), flush=True)
    return held
