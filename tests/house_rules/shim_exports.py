"""The shim lives in other people's programs: it exports what shim.map lists and nothing else."""

import re
import subprocess

from source import Finding


def listed_symbols(map_text):
    """Names in the `global:` part of a linker version script."""
    without_comments = re.sub(r"/\*(?:.|\n)*?\*/|#[^\n]*", "", map_text)
    names = set()
    for part in re.findall(r"global:([^}]*?)(?:local:|\})", without_comments):
        names.update(name.strip() for name in part.split(";") if name.strip())
    return names


def exported_symbols(library):
    """Names that the dynamic linker can find in `library`."""
    out = subprocess.run(
        ["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True
    ).stdout
    symbols = set()
    for line in out.splitlines():
        _, kind, name = line.rsplit(maxsplit=2)
        if kind != "A":  # version names
            symbols.add(name.split("@")[0])
    return symbols


def compare(listed, exported, map_path):
    """Findings for every name that is only on one side."""
    for name in sorted(listed):
        if re.search(r"[*?\[]", name):
            yield Finding(map_path, 1, "shim-exports", f"pattern {name}: list each symbol")
    for name in sorted(exported - listed):
        yield Finding(map_path, 1, "shim-exports", f"exported but not listed: {name}")
    for name in sorted(listed - exported):
        if not re.search(r"[*?\[]", name):
            yield Finding(map_path, 1, "shim-exports", f"listed but not exported: {name}")


def check(library, map_file):
    with open(map_file, encoding="utf-8") as stream:
        listed = listed_symbols(stream.read())
    yield from compare(listed, exported_symbols(library), "shim/shim.map")
