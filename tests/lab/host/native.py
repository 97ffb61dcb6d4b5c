"""The same scenario on this machine itself, where it has Soft-RoCE or a NIC."""

import os
import pathlib
import subprocess


def refusal(scenario) -> str:
    """Why the scenario cannot run natively here; empty when it can."""
    if scenario.guests > 1:
        return "it needs two machines (6.1's rxe works in the initial network namespace only)"
    if os.geteuid() != 0:
        return "natively it needs root"
    if any(pathlib.Path("/sys/class/infiniband").glob("*")):
        return ""
    loadable = subprocess.run(["modprobe", "-n", "rdma_rxe"], capture_output=True, check=False)
    if loadable.returncode == 0:
        return ""
    return "this machine has no RDMA device and its kernel has no rdma_rxe module"


def run(scenario, results: pathlib.Path, environment: dict, limit_s: int) -> str:
    """Runs it and returns the trouble in one line, empty when it held."""
    pathlib.Path("/run/lab").mkdir(exist_ok=True)
    main = pathlib.Path(environment["LAB_REPO"]) / "tests/lab/scenario_main"
    values = {name: str(value) for name, value in environment.items()}
    process = subprocess.Popen(["bash", main], env={**os.environ, **values}, start_new_session=True,
                               stdin=subprocess.DEVNULL)
    try:
        process.wait(timeout=limit_s)
    except subprocess.TimeoutExpired:
        # TERM first, so that the scenario's clean-ups run.
        os.killpg(process.pid, 15)
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
        return "hung: still running at its time limit"
    try:
        verdict = (results / "verdict").read_text()
    except OSError:
        return "it ended without a verdict"
    return "" if "status=held" in verdict else verdict.replace("\n", " ")
