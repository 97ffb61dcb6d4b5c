# For runner_test.py: the machine goes down under the scenario, so there is no verdict.
scenario() {
  ok "before the power-off"
  busybox poweroff -f
}
