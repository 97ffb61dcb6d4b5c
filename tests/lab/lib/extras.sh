# rdma-core's test-suite and Debian 11's C library, from the cache (tests/lab/extras puts them there;
# the guest has no network, so the host must have done so: CMakeLists.txt has a fixture for it).

# pyverbs_suite NAME DEVICE: runs the whole suite, RUNNER before it (lib/perftest.sh). Its log is
# $LAB_RESULTS/NAME.suite, the sorted names of the tests that passed NAME.passed, how many ran and
# passed NAME.counts ("RAN PASSED"). Failed tests are a result, not an error of this function.
pyverbs_suite() {
  local suite name=$1
  suite=$(ls -d "$LAB_CACHE"/pyverbs-*/run_tests.py | tail -n 1)
  (cd /tmp && "${RUNNER[@]}" /usr/bin/python3 -B "$suite" --dev "$2" -v) \
    >"$LAB_RESULTS/$name.suite" 2>&1 || true
  # "test_x (tests.test_y.Class.test_x)", then its description on the next line, then "... ok".
  awk '$1 ~ /^test_/ && $2 ~ /^\(/ {test = $2} /\.\.\. ok$/ && test != "" {print test; test = ""}' \
    "$LAB_RESULTS/$name.suite" | tr -d '()' | sort >"$LAB_RESULTS/$name.passed"
  echo "$(sed -n 's/^Ran \([0-9]*\) tests.*/\1/p' "$LAB_RESULTS/$name.suite") $(wc -l <"$LAB_RESULTS/$name.passed")" \
    >"$LAB_RESULTS/$name.counts"
}

glibc231_cat() {  # glibc231_cat [NAME=VALUE...] -- ARGUMENTS...: Debian 11's cat on its own libc
  local root=$LAB_CACHE/glibc231 environment=()
  while [ "$1" != -- ]; do
    environment+=("$1")
    shift
  done
  shift
  env "${environment[@]}" "$root/lib/x86_64-linux-gnu/ld-2.31.so" \
    --library-path "$root/lib/x86_64-linux-gnu" "$root/bin/cat" "$@"
}
