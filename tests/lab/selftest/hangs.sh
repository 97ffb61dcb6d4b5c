# For runner_test.py: a scenario that never ends.
#lab time_s=60
scenario() {
  ok "before the hang"
  exec sleep infinity
}
