# For runner_test.py: every helper of check.sh in its holding form, and a file that comes back.
scenario() {
  check "true succeeds" true
  check_not "false fails" false
  check_between "within bounds" 2.5 2 3
  check_match "a match" "one two" '^one'
  check_no_match "no match" "one two" 'three'
  figure "answer" 42 units
  echo "content" >"$LAB_RESULTS/collected"
}
