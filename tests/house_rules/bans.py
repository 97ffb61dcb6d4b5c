"""Words that may not appear, each with what to write instead."""

import re
from dataclasses import dataclass
from fnmatch import fnmatch

from source import Finding


@dataclass(frozen=True)
class Ban:
    pattern: re.Pattern
    instead: str
    homes: tuple = ()  # files that may


# In code: comments and string literals do not count.
CODE_BANS = (
    Ban(
        re.compile(r"(?<!\w)::close\s*\("),
        "raw ::close(): hold the descriptor in a UniqueFd (common/bare/unique_fd.h)",
        # The hooks are close(); a test of "somebody else closed our number" has to be somebody else.
        (
            "common/bare/unique_fd.h", "shim/hooks*.cc", "shim/*_test.cc", "tests/lab/tools/*",
            "tests/integration/shim/*",
        ),
    ),
    Ban(
        re.compile(r"\b(?:recvmsg|sendmsg)\s*\("),
        "raw recvmsg()/sendmsg(): use common/bare/fd_message.h",
        ("common/bare/fd_message*.cc",),  # its test plays the hostile sender
    ),
    Ban(
        re.compile(r"\b(?:secure_)?getenv\s*\("),
        "getenv(): read the environment in the config (common/runtime/config, shim/config)",
        ("common/runtime/config*", "shim/config*", "tests/integration/shim/*"),
    ),
    Ban(
        re.compile(r"\bstd::j?thread\b"),
        "std::thread: use Loop or BlockingPool (common/runtime)",
        ("common/runtime/*", "*_test.cc", "tests/*"),
    ),
    Ban(
        re.compile(r"\bsleep_(?:for|until)\b"),
        "sleeping: wait on a Timer, or move a FakeClock in tests",
    ),
    Ban(re.compile(r"\busing\s+namespace\b"), "using namespace: name what you use"),
    Ban(
        re.compile(r"\bthrow\b"),
        "throw: return a Result (common/base/result.h)",
    ),
    Ban(
        re.compile(r"\bco_await\s*\["),
        "co_await of a lambda called at once: GCC 12 destroys its captures twice; name the task",
    ),
    Ban(
        # The closure is an argument: co_await pool.Run([text] { … }).
        re.compile(r"\bco_await\b[^;{}\[]*[(,]\s*\[[^\]]"),
        "co_await with a capturing lambda written among its arguments: GCC 12 destroys its captures "
        "twice; name the lambda and move it in",
    ),
    Ban(
        # Inside the condition: calls there may have parentheses of their own, two deep.
        re.compile(r"\bwhile\s*\((?:[^;{}()]|\((?:[^()]|\([^()]*\))*\))*\bco_await\b"),
        "while (co_await …): GCC 12 reads the coroutine's parameters from the wrong place; "
        "await into a named value first",
    ),
)

# In any text file, comments included.
TEXT_BANS = (
    Ban(re.compile(r"\bFIXME\b"), "FIXME: fix it, or open an issue"),
    Ban(re.compile(r"\bTODO\b(?!\(#\d+\))"), "TODO without an issue: write TODO(#12)"),
    Ban(re.compile("[\u2600-\u27bf\U0001f000-\U0001faff\ufe0f]"), "emoji: say it in words"),
)
TEXT_BANS_SKIP = ("tests/house_rules/*",)  # this folder must name what it bans

# Links that may be written down: standards and the projects we build on. Anything else, above all a
# package mirror of one site, makes the tree depend on where it was written.
_URL = re.compile(r"\bhttps?://([A-Za-z0-9.-]+)")
URL_HOSTS = (
    "127.0.0.*", "192.0.2.*", "example.com", "*.example.com", "example.org", "*.example",
    "www.apache.org", "*.debian.org", "*.kernel.org", "github.com", "*.rfc-editor.org",
    "json-schema.org", "prometheus.io", "*.invalid", "*.test",
)

# Top-level folders every Debian has. An absolute path of the checkout elsewhere is one machine's.
SYSTEM_FOLDERS = frozenset(
    "bin boot dev etc lib lib64 media mnt opt proc root run sbin srv sys tmp usr var".split()
)



def _apply(file, text, bans):
    for ban in bans:
        if any(fnmatch(file.path, home) for home in ban.homes):
            continue
        for match in ban.pattern.finditer(text):
            yield Finding(file.path, file.line_at(match.start()), "ban", ban.instead)


def _check_urls(file):
    for match in _URL.finditer(file.text):
        host = match.group(1).rstrip(".").lower()
        # A name without a dot stands for a machine of the reader's: localhost, agent, node-a.
        if "." in host and not any(fnmatch(host, allowed) for allowed in URL_HOSTS):
            yield Finding(
                file.path, file.line_at(match.start()), "ban",
                f"link to {host}: not one of the hosts the project may name",
            )


def machine_paths(root):
    """Path prefixes that only exist where this checkout happens to be."""
    root = root.rstrip("/")
    top = root.split("/")[1] if root.count("/") else ""
    prefixes = [root] if root.count("/") >= 2 else []
    if top and top not in SYSTEM_FOLDERS:
        prefixes.append(f"/{top}/")
    return prefixes


def _check_machine_paths(file, prefixes):
    for prefix in prefixes:
        pattern = re.compile(r"(?<![\w./}-])" + re.escape(prefix))
        for match in pattern.finditer(file.text):
            yield Finding(
                file.path, file.line_at(match.start()), "ban",
                f"path of one machine ({prefix}): make it relative to the repository",
            )


def check(files, root):
    prefixes = machine_paths(root)
    for file in files:
        if file.is_cpp:
            yield from _apply(file, file.code, CODE_BANS)
        yield from _check_machine_paths(file, prefixes)
        if any(fnmatch(file.path, skip) for skip in TEXT_BANS_SKIP):
            continue
        yield from _apply(file, file.text, TEXT_BANS)
        if file.name != "LICENSE":
            yield from _check_urls(file)
