"""The rules catch what they are for, and leave the look-alikes alone.

Each test writes a small tree into memory and asks one rule module about it.
"""

import os
import subprocess
import sys
import tempfile
import unittest

import bans
import docs
import house_rules
import include_graph
import layout
import shim_symbols
import sizes
from source import SourceFile, load_tree


def tree(**files):
    """SourceFile objects from {path: text}."""
    return [SourceFile(path, text) for path, text in files.items()]


def messages(findings):
    return [f"{f.path}:{f.line}: {f.message}" for f in findings]


class SourceTest(unittest.TestCase):
    def test_comments_and_literals_are_blanked_in_place(self):
        file = SourceFile("a.cc", 'int a; // throw\nauto b = "throw \\" throw"; /* throw\n */ int c;')

        self.assertNotIn("throw", file.code)
        self.assertEqual(len(file.code), len(file.text))
        self.assertEqual(file.code.count("\n"), file.text.count("\n"))
        self.assertIn("int c;", file.code)

    def test_raw_strings_end_at_their_own_tag(self):
        file = SourceFile("a.cc", 'auto a = R"x(throw )" throw)x"; int b;')

        self.assertNotIn("throw", file.code)
        self.assertIn("int b;", file.code)

    def test_digit_separators_are_not_characters(self):
        file = SourceFile("a.cc", "int a = 1'000'000; throw 1;")

        self.assertIn("throw", file.code)

    def test_includes_in_comments_do_not_count(self):
        file = SourceFile("a.cc", '// #include "b.h"\n#include "c/d.h"\n  #  include <string>\n')

        self.assertEqual([(i.line, i.target, i.is_system) for i in file.includes],
                         [(2, "c/d.h", False), (3, "string", True)])

    def test_build_output_is_not_read_and_binaries_are_findings(self):
        with tempfile.TemporaryDirectory() as root:
            os.mkdir(os.path.join(root, "build"))
            for path, raw in (("build/a.cc", b"x"), ("b.cc", b"y"), ("blob", b"\xff\xfe\x00")):
                with open(os.path.join(root, path), "wb") as stream:
                    stream.write(raw)

            files, findings = load_tree(root)

        self.assertEqual([f.path for f in files], ["b.cc"])
        self.assertEqual([f.path for f in findings], ["blob"])


class IncludeGraphTest(unittest.TestCase):
    def found(self, path, text, *others):
        return messages(include_graph.check([SourceFile(path, text), *others]))

    def assert_forbidden(self, path, include):
        self.assertEqual(len(self.found(path, f"#include {include}\n")), 1, f"{path} {include}")

    def assert_allowed(self, path, include):
        self.assertEqual(self.found(path, f"#include {include}\n"), [])

    def test_layers_may_not_look_up_or_sideways(self):
        for path, include in (
            ("common/bare/a.h", '"common/base/result.h"'),
            ("common/base/a.h", '"common/runtime/loop.h"'),
            ("common/runtime/a.cc", '"api/rest/lease.h"'),
            ("api/wire/a.h", '"common/base/result.h"'),
            ("api/rest/a.cc", '"common/runtime/loop.h"'),
            ("shim/a.cc", '"common/base/result.h"'),
            ("shim/deep/a.cc", '"api/rest/lease.h"'),
            ("agent/rest/a.cc", '"shim/ledger.h"'),
            ("cli/a.cc", '"agent/lease/lease_table.h"'),
            ("shim/a.cc", '"agent/lease/lease_table.h"'),
            ("agent/a.cc", '"cli/table.h"'),
        ):
            self.assert_forbidden(path, include)

    def test_layers_may_look_down_and_at_themselves(self):
        for path, include in (
            ("common/base/a.h", '"common/bare/unique_fd.h"'),
            ("shim/a.cc", '"api/wire/frames.h"'),
            ("shim/a.cc", '"shim/deep/ledger.h"'),
            ("agent/rest/a.cc", '"agent/lease/lease_table.h"'),
            ("agent/rest/a.cc", '"api/rest/lease.h"'),
            ("cli/a.cc", '"common/runtime/http_client.h"'),
        ):
            self.assert_allowed(path, include)

    def test_only_tests_may_include_tests(self):
        self.assert_forbidden("agent/a.cc", '"tests/fakes/fake_clock.h"')
        self.assert_allowed("agent/a_test.cc", '"tests/fakes/fake_clock.h"')

    def test_a_shim_test_may_use_base_but_not_the_agent(self):
        self.assert_allowed("shim/a_test.cc", '"common/base/result.h"')
        self.assert_forbidden("shim/a_test.cc", '"agent/lease/lease_table.h"')

    def test_external_headers_stay_at_home(self):
        for path, include in (
            ("agent/rest/a.cc", "<boost/beast/http.hpp>"),
            ("agent/a.h", "<boost/asio.hpp>"),
            ("agent/a.cc", "<openssl/sha.h>"),
            ("agent/a.cc", "<thread>"),
            ("api/rest/a.h", "<nlohmann/json.hpp>"),
            ("agent/rdma/devices.cc", "<infiniband/verbs.h>"),
        ):
            self.assert_forbidden(path, include)
        for path, include in (
            ("common/runtime/a.cc", "<boost/beast/http.hpp>"),
            ("api/rest/a.cc", "<nlohmann/json.hpp>"),
            ("agent/rdma/devices_linux.cc", "<infiniband/verbs.h>"),
            ("shim/a.h", "<infiniband/verbs.h>"),
            ("agent/rdma/netlink.cc", "<rdma/rdma_netlink.h>"),
        ):
            self.assert_allowed(path, include)

    def test_shim_safe_folders_may_not_need_libstdcxx(self):
        self.assert_forbidden("shim/a.cc", "<string>")
        self.assert_forbidden("api/wire/a.h", "<vector>")
        self.assert_allowed("shim/a.cc", "<atomic>")
        self.assert_allowed("shim/a_test.cc", "<string>")

    def test_relative_includes_are_refused(self):
        self.assert_forbidden("agent/a.cc", '"../lease/lease_table.h"')

    def test_folders_may_not_include_each_other_in_a_circle(self):
        found = messages(include_graph.check(tree(**{
            "agent/a/x.h": '#include "agent/b/y.h"\n',
            "agent/b/y.h": '#include "agent/c/z.h"\n',
            "agent/c/z.h": '#include "agent/a/x.h"\n',
            "agent/d/w.h": '#include "agent/a/x.h"\n',
        })))

        self.assertEqual(len(found), 1)
        self.assertIn("agent/a -> agent/b -> agent/c -> agent/a", found[0])


class SizesTest(unittest.TestCase):
    def test_file_at_the_limit_passes_and_one_past_it_does_not(self):
        at, past = "// x\n" * sizes.FILE_LINES_MAX, "// x\n" * (sizes.FILE_LINES_MAX + 1)

        self.assertEqual(messages(sizes.check([SourceFile("agent/a.cc", at)])), [])
        self.assertEqual(len(messages(sizes.check([SourceFile("agent/a.cc", past)]))), 1)

    def test_tests_may_be_longer(self):
        long = "// x\n" * sizes.TEST_FILE_LINES_MAX

        self.assertEqual(messages(sizes.check([SourceFile("agent/a_test.cc", long)])), [])

    def test_function_at_the_limit_passes_and_one_past_it_is_named(self):
        def function(lines):
            return "namespace rb {\nvoid Run() {\n" + "  ++i;\n" * (lines - 2) + "}\n}\n"

        at = SourceFile("agent/a.cc", function(sizes.FUNCTION_LINES_MAX))
        past = SourceFile("agent/a.cc", function(sizes.FUNCTION_LINES_MAX + 1))

        self.assertEqual(messages(sizes.check([at])), [])
        self.assertEqual(messages(sizes.check([past])),
                         ["agent/a.cc:2: function of 71 lines, at most 70"])

    def test_scopes_and_tables_are_not_functions(self):
        body = "  int a;\n" * 90
        for text in (
            "namespace rb::agent {\n" + body + "}\n",
            "class A : public B {\n" + body + "};\n",
            "struct alignas(64) A {\n" + body + "};\n",
            "enum class A {\n" + "  kA,\n" * 90 + "};\n",
            'extern "C" {\n' + body + "}\n",
            "constexpr int kTable[] = {\n" + "  1,\n" * 90 + "};\n",
            "constexpr auto kTable = Make({\n" + "  1,\n" * 90 + "});\n",
        ):
            self.assertEqual(messages(sizes.check([SourceFile("agent/a.cc", text)])), [], text[:40])

    def test_methods_inside_classes_and_extern_blocks_are_functions(self):
        body = "    ++i;\n" * 90
        for text in (
            "class A {\n  void Run() const override {\n" + body + "  }\n};\n",
            'extern "C" int open(const char* path) {\n' + body + "}\n",
            "A::A(int a) : a_(a), b_{a} {\n" + body + "}\n",
            "template <typename T>\nauto F(T t) -> int {\n" + body + "}\n",
            "TEST(A, B) {\n" + body + "}\n",
        ):
            self.assertEqual(len(messages(sizes.check([SourceFile("agent/a.cc", text)]))), 1, text[:40])

    def test_big_files_of_any_kind_are_refused(self):
        file = SourceFile("docs/table.txt", "x" * (sizes.FILE_BYTES_MAX + 1))

        self.assertEqual(len(messages(sizes.check([file]))), 1)


class BansTest(unittest.TestCase):
    def found(self, path, text, root="/srv/checkouts/rdma"):
        return messages(bans.check([SourceFile(path, text)], root))

    def assert_banned(self, text, path="agent/a.cc"):
        self.assertEqual(len(self.found(path, text)), 1, text)

    def assert_fine(self, text, path="agent/a.cc"):
        self.assertEqual(self.found(path, text), [])

    def test_each_banned_word_is_caught(self):
        for text in (
            "::close(fd);",
            "recvmsg(fd, &m, 0);",
            "::sendmsg(fd, &m, 0);",
            'getenv("HOME");',
            'std::getenv("HOME");',
            "std::thread t(f);",
            "std::jthread t(f);",
            "std::this_thread::sleep_for(x);",
            "using namespace std;",
            "throw Error();",
            "co_await [x]() -> Task<void> { co_return; }();",
            "co_await pool.Run([x] { Use(x); });",
            "co_await Call(1,\n  [&] { Use(); });",
            "while (co_await Next()) {}",
            "while (!Done(Key(id)) && co_await Next()) {}",
            "// FIXME later",
            "// TODO: later",
            "// TODO(me): later",
        ):
            self.assert_banned(text)

    def test_look_alikes_are_not(self):
        for text in (
            "file.close();",
            "rb::close(fd);",
            "// never throw here",
            'auto s = "throw";',
            "int throw_count;",
            "using std::chrono::seconds;",
            "co_await task;",
            "co_await pool.Run([] { return 1; });",
            "co_await table[0].Wait();",
            "while (!done) co_await changed.Wait();",
            "while (set.contains(Key(id))) co_await changed.Wait();",
            "// TODO(#12): later",
            "MyRecvmsg(fd);",
        ):
            self.assert_fine(text)

    def test_homes_may(self):
        self.assert_fine("recvmsg(fd, &m, 0);", "common/bare/fd_message.cc")
        self.assert_fine('getenv("X");', "shim/config.cc")
        self.assert_fine("std::thread t(f);", "common/runtime/blocking_pool.cc")
        self.assert_fine("std::thread t(f);", "shim/pacer_test.cc")
        self.assert_banned("std::thread t(f);", "shim/pacer.cc")

    def test_message_says_what_to_write_instead(self):
        self.assertIn("UniqueFd", self.found("agent/a.cc", "::close(fd);")[0])

    def test_links_outside_the_known_hosts_are_caught(self):
        self.assert_banned("see https://mirror.some-company.io/debian", "scripts/setup")
        self.assert_banned("http://10.1.2.3:8080/x", "README.md")
        self.assert_fine("https://www.kernel.org/doc and http://localhost:7472/metrics", "README.md")

    def test_paths_of_one_machine_are_caught(self):
        root = "/projects/main"
        self.assertEqual(len(self.found("scripts/x", "cd /projects/other", root)), 1)
        self.assertEqual(self.found("scripts/x", 'cd "$root/projects/other"', root), [])
        self.assertEqual(self.found("scripts/x", "ls /usr/lib /sys/class", "/usr/src/rdma"), [])
        self.assertEqual(len(self.found("scripts/x", "ls /usr/src/rdma/a", "/usr/src/rdma")), 1)

    def test_emoji_is_caught(self):
        self.assert_banned("done \U0001f389", "README.md")


class LayoutTest(unittest.TestCase):
    def test_header_without_guard_or_opening_comment(self):
        found = messages(layout.check(tree(**{"agent/a.h": "int a();\n"})))

        self.assertEqual(len(found), 2)

    def test_source_that_no_build_list_names(self):
        files = tree(**{
            "agent/CMakeLists.txt": "rb_library(rb::agent SRCS lease/a.cc main_b.cc)",
            "agent/lease/a.cc": "", "agent/b.cc": "",
        })

        found = messages(layout.check(files))

        self.assertEqual(len(found), 1)
        self.assertIn("agent/b.cc", found[0])

    def test_source_that_no_test_reaches(self):
        header = "// What it is.\n#pragma once\n"
        files = tree(**{
            "agent/CMakeLists.txt": "a.cc b.cc c.cc a_test.cc main.cc",
            "agent/a.h": header, "agent/a.cc": '#include "agent/b.h"\n',
            "agent/b.h": header, "agent/b.cc": "",
            "agent/c.h": header, "agent/c.cc": "",
            "agent/a_test.cc": '#include "agent/a.h"\n',
            "agent/main.cc": "",
        })

        found = messages(layout.check(files))

        self.assertEqual(found, [
            "agent/c.cc:1: no test includes it: write c_test.cc beside it"])


class DocsTest(unittest.TestCase):
    def found(self, text):
        return messages(docs.check(tree(**{
            "docs/a.md": text, "docs/b.md": "# One\n## Two, three: `x`\n", "README.md": "",
        })))

    def test_links_to_files_folders_and_headings_that_exist(self):
        self.assertEqual(self.found(
            "[b](b.md) [r](../README.md) [d](../docs) [t](b.md#two-three-x) `[x](y)`\n"
            "```\n[x](y)\n```\n[site](https://www.kernel.org/)\n"), [])

    def test_dead_links_are_caught(self):
        self.assertEqual(len(self.found("[b](c.md)\n[t](b.md#four)\n[self](#nowhere)\n")), 3)


class ShimSymbolsTest(unittest.TestCase):
    MAP = "RDMA_SHIM {\n  global: open; ioctl; /* b; */\n  local: *;\n};\n"

    def test_reads_the_global_part_only(self):
        self.assertEqual(shim_symbols.listed_symbols(self.MAP), {"open", "ioctl"})

    def test_names_on_one_side_only_are_findings(self):
        found = messages(shim_symbols.compare({"open", "ioctl"}, {"open", "leak"}))

        self.assertEqual(len(found), 2)
        self.assertIn("exported but not listed: leak", found[0])
        self.assertIn("listed but not exported: ioctl", found[1])

    def test_patterns_would_let_anything_out(self):
        found = messages(shim_symbols.compare({"rdma_*"}, set()))

        self.assertEqual(len(found), 1)

    def test_what_other_userlands_lack_is_a_finding(self):
        found = messages(shim_symbols.check_needs(
            {"libc.so.6", "libstdc++.so.6"},
            {"open@GLIBC_2.2.5", "memcpy@GLIBC_2.28", "pidfd_open@GLIBC_2.36",
             "__memcpy_chk@GLIBC_2.3.4", "dlvsym@GLIBC_2.2.5", "_ZSt9terminatev@GLIBCXX_3.4"}))

        self.assertEqual(len(found), 5, found)
        self.assertIn("libstdc++.so.6", found[0])

    def test_reads_a_real_library(self):
        compiler = os.environ.get("CC", "cc")
        with tempfile.TemporaryDirectory() as folder:
            source, library = os.path.join(folder, "a.c"), os.path.join(folder, "a.so")
            version = os.path.join(folder, "a.map")
            with open(source, "w", encoding="utf-8") as stream:
                stream.write("int puts(const char*); int open_it(void){return puts(\"\");}"
                             " int leak(void){return 2;}")
            with open(version, "w", encoding="utf-8") as stream:
                stream.write("V1 { global: open_it; local: *; };")
            subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source,
                            f"-Wl,--version-script={version}"], check=True)

            self.assertEqual(shim_symbols.exported_symbols(library), {"open_it"})
            self.assertEqual(shim_symbols.needed_libraries(library), {"libc.so.6"})
            self.assertIn("puts", {s.split("@")[0] for s in shim_symbols.needed_symbols(library)})


class WholeTreeTest(unittest.TestCase):
    def test_a_bad_tree_fails_the_command_and_a_good_one_passes(self):
        with tempfile.TemporaryDirectory() as root:
            command = [sys.executable, "-B", house_rules.__file__, "--root", root]
            good = subprocess.run(command, capture_output=True, text=True, check=False)
            with open(os.path.join(root, "a.h"), "w", encoding="utf-8") as stream:
                stream.write("using namespace std;\n")
            bad = subprocess.run(command, capture_output=True, text=True, check=False)

        self.assertEqual(good.returncode, 0, good.stdout)
        self.assertEqual(bad.returncode, 1)
        self.assertIn("a.h:1: [ban] using namespace", bad.stdout)


if __name__ == "__main__":
    unittest.main()
