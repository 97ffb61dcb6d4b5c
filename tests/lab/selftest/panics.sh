# For runner_test.py: the kernel panics in the middle of a scenario.
#lab time_s=60
scenario() {
  ok "before the panic"
  echo c >/proc/sysrq-trigger
}
