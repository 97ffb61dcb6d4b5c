#!/usr/bin/env python3
"""Keeps the generated tables of docs/*.md equal to what the code says.

    generated_docs.py --tables PROGRAM --docs DIR           exits 1 and shows what differs
    generated_docs.py --tables PROGRAM --docs DIR --write   brings the documents up to date

A table stands between `<!-- begin generated: NAME -->` and `<!-- end generated -->`; PROGRAM NAME
prints it.
"""

import argparse
import difflib
import pathlib
import re
import subprocess
import sys

BLOCK = re.compile(
    r"(<!-- begin generated: ([\w-]+) -->\n)(.*?)(<!-- end generated -->)", re.DOTALL
)


def render(text, table_of):
    """`text` with each block's content replaced by table_of(its name)."""
    return BLOCK.sub(lambda m: m.group(1) + table_of(m.group(2)) + m.group(4), text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", required=True)
    parser.add_argument("--docs", required=True, type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()

    def table_of(name):
        return subprocess.run(
            [args.tables, name], check=True, stdout=subprocess.PIPE, text=True
        ).stdout

    blocks, stale = 0, 0
    for path in sorted(args.docs.rglob("*.md")):
        before = path.read_text(encoding="utf-8")
        after = render(before, table_of)
        blocks += len(BLOCK.findall(before))
        if after == before:
            continue
        if args.write:
            path.write_text(after, encoding="utf-8")
            print(f"generated docs: wrote {path}")
            continue
        stale += 1
        sys.stdout.writelines(
            difflib.unified_diff(
                before.splitlines(True), after.splitlines(True), str(path), "generated", n=0
            )
        )
    print(f"generated docs: {blocks} tables, {stale} files stale")
    if stale:
        print("generated docs: run scripts/docs")
    # Without any block the check would pass for ever: then the markers were lost.
    return 1 if stale or blocks == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
