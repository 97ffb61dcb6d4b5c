#!/usr/bin/env python3
"""Checks the tree against the project's style; prints one line a finding, exits 1 on any.

    house_rules.py [--root DIR]                                 the source rules
    house_rules.py --shim librdma-shim.so [--root DIR]          the built shim

What it checks is in the modules beside it: include_graph, sizes, bans, layout, docs,
shim_symbols.
"""

import argparse
import os
import sys

import bans
import docs
import include_graph
import layout
import shim_symbols
import sizes
from source import load_tree


def check_tree(root):
    """All findings of the source rules, in a stable order."""
    files, findings = load_tree(root)
    findings += include_graph.check(files)
    findings += sizes.check(files)
    findings += bans.check(files, os.path.abspath(root))
    findings += layout.check(files)
    findings += docs.check(files)
    return sorted(findings, key=lambda f: (f.path, f.line, f.message)), len(files)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", default=os.path.join(os.path.dirname(__file__), "..", ".."))
    parser.add_argument("--shim", help="check what this library exports and needs")
    args = parser.parse_args()
    if args.shim:
        findings = list(shim_symbols.check(args.shim, os.path.join(args.root, "shim/shim.map")))
        checked = f"{os.path.basename(args.shim)}"
    else:
        findings, count = check_tree(args.root)
        checked = f"{count} files"
    for finding in findings:
        print(finding)
    print(f"house rules: {checked} checked, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
