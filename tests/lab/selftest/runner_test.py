#!/usr/bin/env python3
"""The runner reports what went wrong in a guest: panic, hang, early end, failed check, no check."""

import pathlib
import subprocess
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
RUN = HERE.parent / "run"


def run(name, *options):
    done = subprocess.run([RUN, HERE / f"{name}.sh", *options], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


class RunnerTest(unittest.TestCase):
    def fails_with(self, name, *words, options=()):
        with tempfile.TemporaryDirectory() as results:
            status, output = run(name, "--results", results, *options)
        self.assertEqual(status, 1, output)
        self.assertIn(f"lab: {name} FAILED", output)
        for word in words:
            self.assertIn(word, output)

    def test_a_scenario_that_holds_succeeds_and_its_files_come_back(self):
        with tempfile.TemporaryDirectory() as results:
            status, output = run("holds", "--results", results)
            collected = pathlib.Path(results, "collected").read_text()
            figures = pathlib.Path(results, "figures").read_text()

        self.assertEqual(status, 0, output)
        self.assertIn("lab: holds held", output)
        self.assertEqual(collected, "content\n")
        self.assertEqual(figures, "answer\t42\tunits\n")

    def test_a_panic_is_a_failure_with_the_console(self):
        self.fails_with("panics", "ok     before the panic", "the kernel panicked",
                        "sysrq triggered crash")

    def test_a_hang_is_a_failure_at_the_time_limit(self):
        self.fails_with("hangs", "ok     before the hang", "hung: still running at its time limit",
                        options=("--timeout", "5"))

    def test_an_early_exit_is_a_failure_although_its_status_is_zero(self):
        self.fails_with("exits_early", "ok     before the exit", "stopped before its end")

    def test_a_power_off_without_a_verdict_is_a_failure(self):
        self.fails_with("powers_off", "ended without a verdict", "Power down")

    def test_a_failed_check_is_a_failure_and_does_not_stop_the_scenario(self):
        self.fails_with("fails_a_check", "FAILED arithmetic: got '2', want '3'",
                        "ok     after the failure", "1 checks failed")

    def test_a_scenario_without_checks_is_a_failure(self):
        self.fails_with("checks_nothing", "it made no check")

    def test_a_panic_of_one_guest_ends_the_other(self):
        self.fails_with("peer_dies", "guest 1: the kernel panicked", "guest 2: hung")

    def test_a_missing_scenario_cannot_be_run(self):
        status, output = run("no_such_scenario")

        self.assertEqual(status, 2)
        self.assertIn("no scenario file", output)

    @unittest.skipIf(any(pathlib.Path("/sys/class/infiniband").glob("*")), "this machine has a NIC")
    def test_natively_it_refuses_and_says_what_is_missing(self):
        status, output = run("holds", "--native")

        self.assertEqual(status, 2, output)
        self.assertIn("cannot run natively", output)


if __name__ == "__main__":
    unittest.main()
