"""One QEMU guest: its command line, its output as it comes, and how it ended."""

import os
import pathlib
import shlex
import subprocess
import sys

from . import accel


class Guest:
    """Owns one QEMU process. Not started until start(); kill() may be called at any time."""

    def __init__(self, number: int, scenario, results: pathlib.Path, environment: dict):
        self.number = number
        self._scenario = scenario
        self._prefix = f"guest {number}: " if scenario.guests > 1 else ""
        self.results = results
        self._environment = environment
        self._process = None
        self._read = 0
        self.console = results / "console.log"
        self._output = results / "output.log"

    def start(self, accel_value: str, kernel: dict, sockets: pathlib.Path, shared: pathlib.Path):
        self.results.mkdir(parents=True, exist_ok=True)
        self._output.touch()
        lines = [f"export {name}={shlex.quote(str(value))}" for name, value in self._environment.items()]
        (self.results / "guest.env").write_text("\n".join(lines) + "\n")
        command = self._command(accel_value, kernel, sockets, shared)
        with (self.results / "qemu.log").open("w") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def _command(self, accel_value, kernel, sockets, shared):
        command = accel.base_command(accel_value, kernel, self._scenario.memory_mib,
                                     self._scenario.cpus, "")
        command += [
            "-serial", f"file:{_escape(self.console)}",
            "-device", "virtio-serial-pci",
            "-chardev", f"file,id=output,path={_escape(self._output)}",
            "-device", "virtserialport,chardev=output,name=lab.output",
        ]
        command += _share("lab_root", "/", readonly=True) + _share("lab_host", self.results)
        if self._scenario.guests > 1:
            command += _share("lab_shared", shared) + self._links(sockets)
        return command

    def _links(self, sockets):
        """Link i joins both guests' NIC i by a pair of datagram sockets."""
        words = []
        for nic in range(self._scenario.nics):
            mine, theirs = (sockets / f"{nic}.{guest}" for guest in (self.number, 3 - self.number))
            words += [
                "-netdev", f"dgram,id=link{nic},local.type=unix,local.path={mine},"
                           f"remote.type=unix,remote.path={theirs}",
                "-device", f"virtio-net-pci,netdev=link{nic},mac=52:54:00:0b:0{nic}:0{self.number},"
                           "host_mtu=9000,romfile=",
            ]
        return words

    def pump(self):
        """Prints the complete lines that the scenario wrote since the last call."""
        with self._output.open("rb") as file:
            file.seek(self._read)
            data = file.read()
        if self.running():
            data = data[:data.rfind(b"\n") + 1]
        self._read += len(data)
        for line in data.decode(errors="replace").splitlines():
            print(f"{self._prefix}{line}")
        sys.stdout.flush()

    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def kill(self):
        if self.running():
            self._process.kill()
            try:
                self._process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                pass  # stuck inside the kernel (KVM): its death signal stays pending

    def verdict(self) -> dict:
        """The scenario's own verdict, empty when it gave none."""
        try:
            lines = (self.results / "verdict").read_text().splitlines()
        except OSError:
            return {}
        return dict(line.split("=", 1) for line in lines if "=" in line)

    def trouble(self, timed_out: bool) -> str:
        """Why this guest failed, in one line; empty when its scenario held."""
        status = self.verdict().get("status")
        console = self.console.read_text(errors="replace") if self.console.exists() else ""
        if "Kernel panic" in console:
            return "the kernel panicked"
        if timed_out:
            return "hung: still running at its time limit"
        if status == "held":
            return ""
        if status == "failed":
            failed = self.verdict().get("failed")
            return f"{failed} checks failed" if failed != "0" else "it made no check"
        if status == "stopped":
            return "the scenario stopped before its end"
        if not (self.results / "booted").exists():
            return "it did not boot (see qemu.log)"
        return "it ended without a verdict"

    def logs(self, lines: int = 60) -> str:
        """The end of the console and of QEMU's own messages, for a failure report."""
        text = ""
        for path in (self.console, self.results / "qemu.log"):
            if path.exists() and path.stat().st_size:
                tail = path.read_text(errors="replace").splitlines()[-lines:]
                text += f"--- guest {self.number}: {path.name}\n" + "\n".join(tail) + "\n"
        return text


def _escape(path) -> str:
    """QEMU's option syntax doubles a comma inside a value."""
    return os.fspath(path).replace(",", ",,")


def _share(tag, path, readonly=False):
    # multidevs=remap: without it the guest mixes up files of two host file systems that have the
    # same inode number.
    option = f"local,id={tag},path={_escape(path)},security_model=none,multidevs=remap"
    if readonly:
        option += ",readonly=on"
    return ["-fsdev", option, "-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}"]
