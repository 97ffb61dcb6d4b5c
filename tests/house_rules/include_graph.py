"""Who may include whom. Dependencies run one way:

    common/bare <- api/wire <- shim
    common/bare <- common/base <- common/runtime, api/rest <- agent | cli

A test may include what its own folder may, plus tests/. External headers have homes too.
"""

import re
from fnmatch import fnmatch

from source import Finding

# Folder -> folders below it. A folder may always include itself; the longest prefix counts.
ALLOWED = {
    "common/bare": (),
    "api/wire": ("common/bare",),
    "common/base": ("common/bare",),
    "common/runtime": ("common/bare", "common/base"),
    "api/rest": ("common/bare", "common/base", "api/wire"),
    "shim": ("common/bare", "api/wire"),
    "agent": ("common", "api"),
    "cli": ("common", "api"),
}

# What tests may use besides: helpers of tests/, and Result and files from common/base, which
# matters for the shim-safe folders only.
ALLOWED_IN_TESTS = ("tests", "common/bare", "common/base")

SHIM_SAFE = ("common/bare", "api/wire", "shim")

# (headers, files that may include them, what to do instead)
EXTERNAL_HOMES = (
    ("boost/*", ("common/runtime/*",), "use the headers of common/runtime; Boost stays inside it"),
    ("openssl/*", ("common/runtime/*",), "use common/runtime (digest.h); OpenSSL stays inside it"),
    ("spdlog/*", ("common/runtime/*",), "use common/runtime/log.h"),
    ("prometheus/*", ("common/runtime/*",), "use common/runtime/metrics.h"),
    ("yaml-cpp/*", ("common/runtime/config*", "cli/*"), "use common/runtime/config.h"),
    ("thread", ("common/runtime/*", "*_test.cc", "tests/*"), "use common/runtime: Loop or BlockingPool"),
    (
        "nlohmann/*",
        ("api/rest/*.cc", "api/rest/json.h", "common/runtime/config*", "tests/*"),
        "turn JSON into values in api/rest/*.cc",
    ),
    (
        "infiniband/*",
        ("*_linux.cc", "shim/*", "tests/*"),
        "keep verbs in *_linux.cc or shim/; the kernel's own headers are <rdma/...>",
    ),
)

# Headers whose use pulls in libstdc++ symbols: the shim loads into programs without it.
NOT_SHIM_SAFE = frozenset(
    "any condition_variable deque exception filesystem fstream functional future iostream list "
    "locale map memory mutex ostream istream queue random regex set sstream stdexcept string "
    "system_error thread unordered_map unordered_set vector".split()
)


def _layer(path):
    """The longest entry of ALLOWED that holds `path`; None for folders without a rule."""
    fitting = [name for name in ALLOWED if path.startswith(name + "/")]
    return max(fitting, key=len, default=None)


def _is_below(path, folders):
    return any(path.startswith(folder + "/") for folder in folders)


def _check_project_include(file, include, layer):
    target = include.target
    if not file.is_test and target.startswith("tests/"):
        yield Finding(file.path, include.line, "include-graph", f"product code includes {target}")
        return
    target_layer = _layer(target)
    if target_layer is None or target_layer == layer:
        return
    allowed = ALLOWED[layer] + (ALLOWED_IN_TESTS if file.is_test else ())
    if not _is_below(target, allowed):
        below = ", ".join(ALLOWED[layer]) or "nothing"
        yield Finding(
            file.path, include.line, "include-graph",
            f"{layer} may not include {target} (below it: {below})",
        )


def _check_external(file, include):
    for pattern, homes, instead in EXTERNAL_HOMES:
        if fnmatch(include.target, pattern) and not any(fnmatch(file.path, h) for h in homes):
            yield Finding(
                file.path, include.line, "include-graph", f"<{include.target}>: {instead}"
            )
    shim_safe = _is_below(file.path, SHIM_SAFE) and not file.is_test
    if shim_safe and include.target in NOT_SHIM_SAFE:
        yield Finding(
            file.path, include.line, "include-graph",
            f"<{include.target}> needs libstdc++, which the shim does not have",
        )


def _folder_edges(files):
    """(from, to) -> first include that makes it, between the folders of the product."""
    edges = {}
    known = {f.path for f in files}
    for file in files:
        if not file.is_cpp or file.is_test:
            continue
        for include in file.includes:
            if include.target not in known:
                continue
            to = include.target.rsplit("/", 1)[0]
            if to != file.folder:
                edges.setdefault((file.folder, to), (file, include))
    return edges


def _find_cycle(edges):
    """The folders of one cycle, first repeated last; empty when there is none."""
    next_of = {}
    for start, end in edges:
        next_of.setdefault(start, []).append(end)
    done, trail = set(), []

    def visit(folder):
        if folder in trail:
            return trail[trail.index(folder):] + [folder]
        if folder in done:
            return []
        trail.append(folder)
        for end in sorted(next_of.get(folder, [])):
            cycle = visit(end)
            if cycle:
                return cycle
        trail.pop()
        done.add(folder)
        return []

    for folder in sorted(next_of):
        cycle = visit(folder)
        if cycle:
            return cycle
    return []


def check(files):
    for file in files:
        if not file.is_cpp:
            continue
        layer = _layer(file.path)
        for include in file.includes:
            yield from _check_external(file, include)
            if layer:
                yield from _check_project_include(file, include, layer)
            if not include.is_system and re.match(r"\.\.?/", include.target):
                yield Finding(
                    file.path, include.line, "include-graph",
                    "relative include: write the path from the repository's root",
                )
    edges = _folder_edges(files)
    cycle = _find_cycle(edges)
    if cycle:
        file, include = edges[(cycle[0], cycle[1])]
        yield Finding(
            file.path, include.line, "include-graph",
            "folders include each other: " + " -> ".join(cycle),
        )
