"""Where files lie: guards, opening comments, build lists, tests."""

import re

from source import Finding

# These act on the process that they are loaded into or on the one that they become, so only a
# preloaded program in tests/integration or the lab can show what they do.
RUN_IN_PROCESS = frozenset({
    "shim/data_path.cc", "shim/process.cc", "shim/qp_ex.cc", "cli/linux_workload.cc",
})

PRODUCT = ("common/", "api/", "agent/", "shim/", "cli/")


def _check_header(file):
    if not file.text.startswith("//"):
        yield Finding(
            file.path, 1, "layout", "a header opens with what it is, what it is not, threading"
        )
    if not re.search(r"^#pragma once$", file.text, re.MULTILINE):
        yield Finding(file.path, 1, "layout", "missing #pragma once")


def _build_list(file, by_path):
    """The nearest CMakeLists.txt at or above the file's folder that exists."""
    folder = file.folder
    while folder not in ("", "."):
        found = by_path.get(folder + "/CMakeLists.txt")
        if found:
            return found
        folder = folder.rpartition("/")[0]
    return by_path.get("CMakeLists.txt")


def _check_listed(file, by_path):
    lists = _build_list(file, by_path)
    if lists is None:
        return
    relative = file.path.removeprefix(lists.folder + "/")
    if not re.search(r"(?<![\w-])" + re.escape(relative) + r"(?![\w-])", lists.text):
        yield Finding(
            file.path, 1, "layout", f"not listed in {lists.path}: it is neither built nor run"
        )


def _reached_by_tests(files, by_path):
    """Paths that some test includes, directly or through what it includes.

    Reaching x.h reaches x.cc, because the test links it.
    """
    reached = set()
    waiting = [f for f in files if f.is_cpp and f.is_test]
    waiting_paths = {f.path for f in waiting}
    while waiting:
        file = waiting.pop()
        reached.add(file.path)
        near = [i.target for i in file.includes]
        if file.is_header:
            near.append(file.path[: -len(".h")] + ".cc")
            near.append(file.path[: -len(".h")] + "_linux.cc")
        for path in near:
            if path in by_path and path not in waiting_paths:
                waiting_paths.add(path)
                waiting.append(by_path[path])
    return reached


def _needs_test(file):
    """main.cc only wires; *_linux.cc and the hooks need a real kernel, so the lab runs them."""
    return (
        file.path.endswith(".cc")
        and file.path.startswith(PRODUCT)
        and not file.is_test
        and file.name != "main.cc"
        and not file.name.endswith("_linux.cc")
        and not file.name.startswith("hooks")
        and file.path not in RUN_IN_PROCESS
    )


def check(files):
    by_path = {f.path: f for f in files}
    reached = _reached_by_tests(files, by_path)
    for file in files:
        if not file.is_cpp:
            continue
        if file.is_header:
            yield from _check_header(file)
        else:
            yield from _check_listed(file, by_path)
        # A header-less .cc is part of its folder's other files; its own test names it.
        has_header = file.path[: -len(".cc")] + ".h" in by_path
        if _needs_test(file) and has_header and file.path not in reached:
            yield Finding(
                file.path, 1, "layout", f"no test includes it: write {file.stem}_test.cc beside it"
            )
