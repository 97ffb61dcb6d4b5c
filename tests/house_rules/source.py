"""Source files as the rules see them: text, code without comments and strings, line numbers.

Not a C++ parser. It knows comments, string and character literals, raw strings and preprocessor
lines, which is enough for every rule here and takes milliseconds for the whole tree.
"""

import os
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath

CPP_SUFFIXES = (".cc", ".h", ".c")
SKIPPED_FOLDERS = {".git", "build", ".cache", "__pycache__", ".vscode", ".idea"}

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)

# One alternative for each thing that can hide code-like text. Order matters: raw strings first.
_HIDDEN = re.compile(
    r'R"(?P<tag>[^()\s\\]{0,16})\((?:.|\n)*?\)(?P=tag)"'
    r"|//(?:\\\n|[^\n])*"
    r"|/\*(?:.|\n)*?\*/"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'"
)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)


@dataclass(frozen=True)
class Finding:
    """One broken rule, printed as `path:line: [rule] message`."""

    path: str
    line: int
    rule: str
    message: str

    def __str__(self):
        return f"{self.path}:{self.line}: [{self.rule}] {self.message}"


@dataclass(frozen=True)
class Include:
    line: int
    target: str
    is_system: bool  # written with <>


def _blank(match):
    """Spaces in place of the match, so that offsets and line numbers stay right."""
    return re.sub(r"[^\n]", " ", match.group(0))


@dataclass(frozen=True)
class SourceFile:
    path: str  # relative to the repository, with '/'
    text: str = field(repr=False)

    @property
    def folder(self):
        return str(PurePosixPath(self.path).parent)

    @property
    def name(self):
        return PurePosixPath(self.path).name

    @property
    def stem(self):
        return PurePosixPath(self.path).stem

    @property
    def is_cpp(self):
        return self.path.endswith(CPP_SUFFIXES)

    @property
    def is_header(self):
        return self.path.endswith(".h")

    @property
    def is_script(self):
        return self.path.endswith((".py", ".sh")) or self.text.startswith("#!")

    @property
    def is_test(self):
        """Code that only tests use: x_test.cc beside its file, test_x.h, or anything under tests/."""
        return (
            self.path.startswith("tests/")
            or self.stem.endswith(("_test", "_fuzz", "_bench"))
            or self.stem.startswith("test_")
        )

    @cached_property
    def code(self):
        """The C++ text with comments and literals blanked; same length, same lines."""
        return _HIDDEN.sub(_blank, self.text)

    @cached_property
    def statements(self):
        """`code` without preprocessor lines."""
        return _DIRECTIVE.sub(_blank, self.code)

    @cached_property
    def includes(self):
        without_comments = re.sub(r"//[^\n]*|/\*(?:.|\n)*?\*/", _blank, self.text)
        return [
            Include(self.line_at(m.start(1)), m.group(2), m.group(1) == "<")
            for m in _INCLUDE.finditer(without_comments)
        ]

    def line_at(self, offset):
        return self.text.count("\n", 0, offset) + 1

    def line_count(self):
        return len(self.text.splitlines())


def load_tree(root):
    """Every text file below `root` but build output, and the findings about unreadable ones."""
    files, findings = [], []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(d for d in folders if d not in SKIPPED_FOLDERS)
        for name in sorted(names):
            full = os.path.join(folder, name)
            path = os.path.relpath(full, root).replace(os.sep, "/")
            if os.path.islink(full) or not os.path.isfile(full):
                continue
            with open(full, "rb") as stream:
                raw = stream.read()
            try:
                files.append(SourceFile(path, raw.decode("utf-8")))
            except UnicodeDecodeError:
                findings.append(Finding(path, 1, "text", "not UTF-8 text: keep binaries out"))
    return files, findings
