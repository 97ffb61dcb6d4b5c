"""The shim lives in other people's programs: what it shows them and what it needs from them.

It exports what shim.map lists and nothing else, needs no library but libc's own, and no glibc
newer than Debian 10's. That a musl or an old glibc really loads it is the lab's to show.
"""

import re
import subprocess

from source import Finding

MAP = "shim/shim.map"
NEEDED_ALLOWED = frozenset({"libc.so.6", "libdl.so.2"})
GLIBC_MAX = (2, 28)
# glibc has these, musl does not; an undefined one makes every musl program exit with 127.
_NOT_IN_EVERY_LIBC = re.compile(r"^(?:__\w+_chk|__stack_chk_fail|dlvsym|_ZN?S\w*|__cxa_\w+)$")


def listed_symbols(map_text):
    """Names in the `global:` part of a linker version script."""
    without_comments = re.sub(r"/\*(?:.|\n)*?\*/|#[^\n]*", "", map_text)
    names = set()
    for part in re.findall(r"global:([^}]*?)(?:local:|\})", without_comments):
        names.update(name.strip() for name in part.split(";") if name.strip())
    return names


def _output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def exported_symbols(library):
    """Names that the dynamic linker can find in `library`."""
    symbols = set()
    for line in _output("nm", "-D", "--defined-only", library).splitlines():
        _, kind, name = line.rsplit(maxsplit=2)
        if kind != "A":  # version names
            symbols.add(name.split("@")[0])
    return symbols


def needed_symbols(library):
    """Strong undefined symbols as `name@VERSION`; weak ones may be absent."""
    rows = (line.split() for line in _output("nm", "-D", "--undefined-only", library).splitlines())
    return {name for kind, name in rows if kind == "U"}


def needed_libraries(library):
    return set(re.findall(r"\(NEEDED\).*\[(.*)\]", _output("readelf", "-dW", library)))


def compare(listed, exported):
    """Findings for every name that is only on one side."""
    for name in sorted(listed):
        if re.search(r"[*?\[]", name):
            yield Finding(MAP, 1, "shim-symbols", f"pattern {name}: list each symbol")
    for name in sorted(exported - listed):
        yield Finding(MAP, 1, "shim-symbols", f"exported but not listed: {name}")
    for name in sorted(listed - exported):
        if not re.search(r"[*?\[]", name):
            yield Finding(MAP, 1, "shim-symbols", f"listed but not exported: {name}")


def check_needs(libraries, symbols):
    """Findings for libraries and symbols that some program's userland does not have."""
    for name in sorted(libraries - NEEDED_ALLOWED):
        yield Finding("shim/CMakeLists.txt", 1, "shim-symbols", f"needs the library {name}")
    for symbol in sorted(symbols):
        name, _, version = symbol.partition("@")
        if _NOT_IN_EVERY_LIBC.match(name):
            yield Finding("shim/CMakeLists.txt", 1, "shim-symbols",
                          f"needs {name}, which not every libc has")
        numbers = re.search(r"GLIBC_(\d+)\.(\d+)", version)
        if numbers and (int(numbers[1]), int(numbers[2])) > GLIBC_MAX:
            yield Finding("shim/CMakeLists.txt", 1, "shim-symbols",
                          f"needs {symbol}, newer than glibc {GLIBC_MAX[0]}.{GLIBC_MAX[1]}")


def check(library, map_file):
    with open(map_file, encoding="utf-8") as stream:
        listed = listed_symbols(stream.read())
    yield from compare(listed, exported_symbols(library))
    yield from check_needs(needed_libraries(library), needed_symbols(library))
