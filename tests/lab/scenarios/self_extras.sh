# The lab itself: rdma-core's test-suite runs bare on rxe, and Debian 11's C library is usable.
#lab time_s=150

scenario() {
  local ran passed
  check_eq "cat on glibc 2.31" "$(glibc231_cat LC_ALL=C -- <<<hello)" hello
  rxe_up 1
  pyverbs_suite bare "${DEVICES[0]}"
  read -r ran passed <"$LAB_RESULTS/bare.counts"
  check_between "tests that ran" "$ran" 200 -
  check_between "tests that passed" "$passed" 60 -
}
