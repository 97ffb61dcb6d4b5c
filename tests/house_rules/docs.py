"""Documents stay true to the tree: what they link to exists."""

import posixpath
import re

from source import Finding

# [text](target) outside of code spans; targets with a scheme are bans.py's business.
_LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^(`{3,})(?:.|\n)*?^\1", re.MULTILINE)


def _blank(match):
    return re.sub(r"[^\n]", " ", match.group(0))


def anchor_of(heading):
    """The fragment that GitHub gives a heading."""
    kept = re.sub(r"[^\w\- ]", "", heading.strip().lower())
    return kept.replace(" ", "-")


def _anchors(text):
    return {anchor_of(m) for m in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


def check(files):
    by_path = {f.path: f for f in files}
    folders = {f.folder for f in files}
    for file in files:
        if not file.path.endswith(".md"):
            continue
        text = re.sub(r"`[^`\n]*`", _blank, _FENCE.sub(_blank, file.text))
        for match in _LINK.finditer(text):
            target, _, fragment = match.group(1).partition("#")
            if ":" in target:
                continue
            line = file.line_at(match.start())
            path = posixpath.normpath(posixpath.join(file.folder, target)) if target else file.path
            if path not in by_path and path not in folders:
                yield Finding(file.path, line, "docs", f"link to {target}, which does not exist")
            elif fragment and path.endswith(".md") and fragment not in _anchors(by_path[path].text):
                yield Finding(file.path, line, "docs", f"no heading #{fragment} in {path}")
