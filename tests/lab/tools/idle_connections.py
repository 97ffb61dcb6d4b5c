#!/usr/bin/env python3
"""Holds connections to the tenant socket that spoke once and are silent now, and runs a command.

    idle_connections.py [--uid UID] SOCKET COUNT -- COMMAND...

--uid: the connections are that user's (as root); the command runs as the caller.
Exit status: that of the command, or 1 when a connection could not be had.
"""

import argparse
import os
import resource
import subprocess
import sys

from tenant_socket import HELLO, Connection, frame


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--uid", type=int)
    parser.add_argument("socket")
    parser.add_argument("count", type=int)
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if arguments.uid is not None:
        os.seteuid(arguments.uid)  # what the other end sees; root comes back for the command
    held = []
    for number in range(arguments.count):
        connection = Connection(arguments.socket)
        answer = connection.call(frame(HELLO))
        if answer.kind is None:
            print(f"connection {number + 1} of {arguments.count} was closed")
            return 1
        held.append(connection)
    if arguments.uid is not None:
        os.seteuid(0)
    return subprocess.run(arguments.command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
