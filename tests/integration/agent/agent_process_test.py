#!/usr/bin/env python3
"""Starts the rdma-agent program and talks to it over its sockets: no RDMA, root or cgroup2 needed.

    agent_process_test.py --agent PROGRAM [unittest arguments]

What only a lease holder can do is in tests/lab/scenarios/bad_input.sh.
"""

import json
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
import unittest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "lab" / "tools"
sys.path.insert(0, str(TOOLS))
sys.dont_write_bytecode = True

from bad_requests import http, raw  # noqa: E402
from tenant_socket import ERROR, HELLO, Connection, frame  # noqa: E402

START_S = 20  # a machine under load, a sanitizer in the program
REST_S = 1
AGENT = None


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Agent:
    """One run of the program in a folder of its own."""

    def __init__(self, folder, **options):
        self.folder = folder
        for name in ("run", "state", "cgroup"):
            (folder / name).mkdir(exist_ok=True)
        (folder / "cgroup" / "cgroup.controllers").write_text("cpu memory\n", encoding="ascii")
        self.port = free_port()
        settings = {
            "run_directory": folder / "run", "state_directory": folder / "state",
            "cgroup_mount": folder / "cgroup", "metrics_port": self.port,
            "restrict_device_nodes": "false", **options,
        }
        flags = [f"--{name.replace('_', '-')}={value}" for name, value in settings.items()]
        self.log = open(folder / "log", "ab+")
        self.process = subprocess.Popen([AGENT, *flags], stdout=self.log, stderr=self.log)

    admin = property(lambda self: str(self.folder / "run" / "admin.sock"))
    tenants = property(lambda self: str(self.folder / "run" / "tenant" / "agent.sock"))

    def await_ready(self):
        deadline = time.monotonic() + START_S
        while self.process.poll() is None and time.monotonic() < deadline:
            try:
                if b" 200 " in self.monitor("/readyz")[:20]:
                    return self
            except ConnectionError:
                time.sleep(0.05)
        raise AssertionError("the agent does not get ready:\n" + self.log_text())

    def monitor(self, target):
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as connection:
            connection.sendall(http("GET", target))
            answer = b""
            while chunk := connection.recv(65536):
                answer += chunk
        return answer

    def get(self, target):
        return json.loads(raw(self.admin, http("GET", target)).split(b"\r\n\r\n", 1)[1])

    def log_text(self):
        self.log.seek(0)
        return self.log.read().decode(errors="replace")

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def idle_descriptors(self):
        """The count once it rests: a connection that a client closed is the agent's a moment longer."""
        count, since = self.descriptors(), time.monotonic()
        while time.monotonic() - since < REST_S:
            time.sleep(0.05)
            if self.descriptors() != count:
                count, since = self.descriptors(), time.monotonic()
        return count

    def stop(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        status = self.process.wait(timeout=START_S)
        self.log.close()
        return status


class AgentProcessTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rb-agent."))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def start(self, **options):
        agent = Agent(self.folder, **options)
        self.addCleanup(agent.stop)
        return agent.await_ready()

    def run_tool(self, name, *arguments):
        done = subprocess.run([sys.executable, str(TOOLS / name), *arguments], check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        failed = [line for line in done.stdout.splitlines() if not line.startswith("ok")]
        self.assertEqual((done.returncode, failed), (0, []), done.stdout)

    def await_descriptors(self, agent, count):
        deadline = time.monotonic() + START_S
        while agent.descriptors() != count and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(agent.descriptors(), count)

    def test_a_node_without_rdma_is_served_and_says_so(self):
        agent = self.start()

        node = agent.get("/v1/node")
        self.assertEqual(node["active_leases"], 0)
        self.assertIn("no rdma cgroup controller", " ".join(node["warnings"]))
        self.assertEqual(agent.get("/v1/leases"), {"items": []})
        self.assertIn(b"404 Not Found", raw(agent.admin, http(
            "POST", "/v1/leases", '{"spec": {"tenant": "a", "devices": {"names": ["no_such_nic"]}}}')))
        with Connection(agent.tenants) as tenant:
            answer = tenant.call(frame(HELLO))
        self.assertEqual((answer.kind, answer.reason), (ERROR, "no_lease"))

    def test_sockets_are_for_whom_they_are_meant(self):
        self.start()

        modes = {name: stat.S_IMODE((self.folder / "run" / name).stat().st_mode)
                 for name in ("admin.sock", "tenant", "tenant/agent.sock", "policy")}
        self.assertEqual(modes, {"admin.sock": 0o600, "tenant": 0o755, "tenant/agent.sock": 0o666,
                                 "policy": 0o700})

    def test_bad_requests_change_nothing(self):
        agent = self.start()
        before = agent.get("/v1/leases")

        self.run_tool("bad_requests.py", agent.admin)

        self.assertEqual(agent.get("/v1/leases"), before)
        self.assertIsNone(agent.process.poll())

    def test_bad_frames_leave_no_descriptor_behind(self):
        agent = self.start()
        before = agent.idle_descriptors()

        self.run_tool("bad_frames.py", agent.tenants)

        self.await_descriptors(agent, before)
        self.assertIsNone(agent.process.poll())

    def test_a_thousand_idle_connections_leave_room_for_others(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard < 4096:
            self.skipTest(f"only {hard} descriptors allowed")
        # The agent starts with a soft limit that is far too low, as services do.
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
        agent = self.start()
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        idle = []
        for _ in range(1000):
            idle.append(Connection(agent.tenants))
            self.assertEqual(idle[-1].call(frame(HELLO)).reason, "no_lease")

        with Connection(agent.tenants) as one_more:
            self.assertEqual(one_more.call(frame(HELLO)).reason, "no_lease")
        self.assertEqual(agent.get("/v1/leases"), {"items": []})
        self.assertIn(b" 200 ", agent.monitor("/healthz")[:20])
        for connection in idle:
            connection.socket.close()

    def test_metrics_follow_the_format(self):
        agent = self.start()
        agent.get("/v1/node")
        text = agent.monitor("/metrics").split(b"\r\n\r\n", 1)[1].decode()

        types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
        helps = set(re.findall(r"^# HELP (\S+) \S", text, re.MULTILINE))
        self.assertEqual(set(types), helps)
        for name, kind in types.items():
            self.assertEqual(kind == "counter", name.endswith("_total"), name)
        for family in ("rdma_agent_leases", "rdma_agent_requests_total"):
            self.assertIn(family, types)
        promtool = shutil.which("promtool")
        if promtool:
            done = subprocess.run([promtool, "check", "metrics"], input=text, text=True, check=False,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_stops_when_told_and_events_go_on_where_they_were(self):
        agent = self.start()
        with Connection(agent.tenants) as tenant:
            tenant.call(frame(HELLO))
            last = agent.get("/v1/events")["items"][-1]["sequence"]
            self.assertEqual(agent.stop(), 0)
            self.assertIsNone(tenant.receive().kind)

        again = self.start()
        with Connection(again.tenants) as tenant:
            tenant.call(frame(HELLO))

        self.assertGreater(again.get("/v1/events")["items"][0]["sequence"], last)

    def test_a_killed_agents_sockets_do_not_stop_the_next_one(self):
        self.start().stop(signal.SIGKILL)

        agent = self.start()

        self.assertEqual(agent.get("/v1/leases"), {"items": []})

    def test_two_agents_do_not_share_a_socket(self):
        self.start()
        second = Agent(self.folder)
        self.addCleanup(second.stop)

        self.assertEqual(second.process.wait(timeout=START_S), 1)
        self.assertIn("agent.sock", second.log_text())

    def test_without_cgroup2_it_says_so_and_exits(self):
        agent = Agent(self.folder, cgroup_mount=self.folder / "state")

        self.assertEqual(agent.process.wait(timeout=START_S), 1)
        self.assertIn(f"no cgroup2 at {self.folder}/state", agent.log_text())
        agent.stop()

    def test_a_damaged_checkpoint_is_set_aside_not_overwritten(self):
        (self.folder / "state").mkdir()
        (self.folder / "state" / "checkpoint.json").write_text("{", encoding="ascii")

        agent = self.start()

        self.assertEqual([event["type"] for event in agent.get("/v1/events")["items"]],
                         ["checkpoint_lost"])
        aside = [path.name for path in (self.folder / "state").iterdir()]
        self.assertTrue(any(name.startswith("checkpoint.json.corrupt-") for name in aside), aside)


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] != "--agent":
        sys.exit(__doc__)
    AGENT = sys.argv[2]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
