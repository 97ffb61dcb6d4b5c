# For runner_test.py: a failed check, then a scenario that runs to its end.
scenario() {
  check_eq "arithmetic" $((1 + 1)) 3
  ok "after the failure"
}
