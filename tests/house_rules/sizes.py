"""Budgets: lines of a file, lines of a function, bytes of anything checked in."""

import re

from source import Finding

FILE_LINES_MAX = 500
TEST_FILE_LINES_MAX = 800
FUNCTION_LINES_MAX = 70
FILE_BYTES_MAX = 256 * 1024

_NOT_A_FUNCTION = re.compile(r"^(?:(?:template\s*<.*>|export|inline|typedef|static|extern)\s*)*"
                             r"(?:namespace|class|struct|union|enum)\b", re.DOTALL)
_SCOPE = re.compile(r"\bnamespace\b|\b(?:class|struct|union)\b|^\s*extern\s*$")


def _is_scope(head):
    """Does a brace after `head` open a namespace, class or extern "C" block?"""
    if head.rstrip().endswith((")", "=", ",", "(")) and not _NOT_A_FUNCTION.match(head.strip()):
        return False
    return bool(_SCOPE.search(head)) and (
        bool(_NOT_A_FUNCTION.match(head.strip())) or head.strip() == "extern"
    )


def _is_function(head):
    head = head.strip()
    return "(" in head and not head.endswith(("=", ",", "(")) and not _NOT_A_FUNCTION.match(head)


def functions(file):
    """(first line, last line) of each outermost function body, from its signature to its brace.

    Works on brackets alone: a brace at namespace or class level whose text since the last ; { or }
    has parentheses opens a function.
    """
    code = file.statements
    start_of_head = 0
    depth_paren = 0
    scopes = []  # for each open brace: ("scope" | "function" | "other", first offset)
    just_closed = None  # first offset of a function whose brace closed right before this head
    for match in re.finditer(r"[(){};]", code):
        mark, at = match.group(0), match.start()
        if mark == "(":
            depth_paren += 1
            continue
        if mark == ")":
            depth_paren = max(0, depth_paren - 1)
            continue
        if mark == "{":
            head = code[start_of_head:at]
            outside = all(kind == "scope" for kind, _ in scopes)
            kind = "other"
            first = start_of_head + len(head) - len(head.lstrip())
            if outside and depth_paren == 0:
                kind = "scope" if _is_scope(head) else "function" if _is_function(head) else kind
                # A(int a) : a_{a}, b_(a) { … }: what closed was an initializer, not the body.
                if just_closed is not None and (not head.strip() or head.strip()[0] == ","):
                    kind, first = "function", just_closed
            scopes.append((kind, first))
            just_closed = None
        elif mark == "}" and scopes:
            kind, first = scopes.pop()
            just_closed = first if kind == "function" else None
            if kind == "function":
                yield file.line_at(first), file.line_at(at)
        elif mark == ";":
            just_closed = None
        if depth_paren == 0 or mark != ";":
            start_of_head = at + 1


def check(files):
    for file in files:
        limit = TEST_FILE_LINES_MAX if file.is_test else FILE_LINES_MAX
        lines = file.line_count()
        if (file.is_cpp or file.is_script) and lines > limit:
            yield Finding(file.path, limit + 1, "size", f"{lines} lines, at most {limit}: split it")
        if len(file.text) > FILE_BYTES_MAX:
            yield Finding(file.path, 1, "size", f"more than {FILE_BYTES_MAX} bytes")
        if not file.is_cpp:
            continue
        for first, last in functions(file):
            if last - first + 1 > FUNCTION_LINES_MAX:
                yield Finding(
                    file.path, first, "size",
                    f"function of {last - first + 1} lines, at most {FUNCTION_LINES_MAX}",
                )
