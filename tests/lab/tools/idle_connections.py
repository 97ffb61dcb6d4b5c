#!/usr/bin/env python3
"""Holds connections to the tenant socket that spoke once and are silent now, and runs a command.

    idle_connections.py SOCKET COUNT -- COMMAND...

Exit status: that of the command, or 1 when a connection could not be had.
"""

import resource
import subprocess
import sys

from tenant_socket import HELLO, Connection, frame


def main():
    path, count, dashes, *command = sys.argv[1:]
    if dashes != "--" or not command:
        sys.exit(__doc__)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    held = []
    for number in range(int(count)):
        connection = Connection(path)
        answer = connection.call(frame(HELLO))
        if answer.kind is None:
            print(f"connection {number + 1} of {count} was closed")
            return 1
        held.append(connection)
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
