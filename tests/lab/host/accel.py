"""KVM or emulation. /dev/kvm can exist and hang or be very slow, so it is tried with a deadline."""

import os
import pathlib
import subprocess

QEMU = "qemu-system-x86_64"
PROBE_DEADLINE_S = 10
# Emulation pays for each: clearing every allocation (9p takes msize bytes for each request), hardening
# against other tenants of a CPU, and audit records.
SPEED = "init_on_alloc=0 mitigations=off audit=0"
TCG = "tcg,thread=multi,tb-size=512"


def base_command(accel: str, kernel: dict, memory_mib: int, cpus: int, words: str) -> list:
    """QEMU's words for the lab's kernel on a bare machine; the caller adds devices."""
    return [
        # A killed runner must not leave a guest behind.
        "setpriv", "--pdeathsig", "KILL", QEMU,
        "-accel", accel, "-cpu", "host" if accel == "kvm" else "max",
        "-m", str(memory_mib), "-smp", str(cpus),
        "-nodefaults", "-display", "none", "-no-reboot", "-bios", "qboot.rom",
        "-kernel", kernel["vmlinux"], "-initrd", kernel["initrd"],
        # oops=panic: an oops is a finding, not something to run on with. tsc=reliable: both virtual
        # CPUs read the host's counter; else the clock would be an emulated device, slow to read.
        "-append", f"console=ttyS0 quiet oops=panic panic=-1 tsc=reliable no_timer_check {SPEED} {words}",
    ]


def choose(cache: pathlib.Path, kernel: dict) -> str:
    """Returns QEMU's -accel value. LAB_ACCEL=kvm|tcg decides without a probe."""
    forced = os.environ.get("LAB_ACCEL")
    if forced:
        return TCG if forced == "tcg" else forced
    answer = cache / "accel"
    key = _machine_key(kernel)
    if answer.is_file():
        cached = answer.read_text().split("\n")
        if cached[0] == key:
            return cached[1]
    accel = "kvm" if _kvm_boots(kernel) else TCG
    fresh = answer.with_name(f"accel.{os.getpid()}")
    fresh.write_text(f"{key}\n{accel}\n")
    fresh.replace(answer)
    return accel


def _machine_key(kernel: dict) -> str:
    """The answer holds until the machine reboots, QEMU or the guest's kernel changes."""
    boot_id = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    version = subprocess.run([QEMU, "--version"], capture_output=True, text=True, check=True)
    return " ".join([boot_id, version.stdout.split("\n")[0], kernel["initrd"]])


def _kvm_boots(kernel: dict) -> bool:
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return False
    command = base_command("kvm", kernel, 512, 2, "lab.probe") + ["-serial", "stdio"]
    # Not run(timeout=...): it would wait without end for a QEMU that hangs inside the kernel.
    probe = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL)
    try:
        output, _ = probe.communicate(timeout=PROBE_DEADLINE_S)
    except subprocess.TimeoutExpired:
        probe.kill()
        return False
    return b"lab: probe ok" in output
