# rdma-core's own test-suite: under the shim, without a device node, the same tests pass as bare with
# the nodes. Both runs are the same user without a capability, so that the nodes and the shim are the
# only difference.
#lab time_s=400

# Room for everything the suite makes. What a lease denies by itself (unknown objects, raw packets)
# stays denied: no test may need it.
readonly kLimits=(--contexts 64 --pds 256 --qps 512 --cqs 512 --srqs 128 --mrs 2048 --mr-bytes 4GiB
  --ahs 512 --mws 256 --xrcds 64 --wqs 256 --flows 256 --counters 256)

bare() {
  setpriv --reuid 1001 --regid 1001 --clear-groups --inh-caps=-all --no-new-privs --bounding-set=-all "$@"
}

leased() { ctl run --lease-token "$TOKEN" --uid 1001 --rdma-cm --shim "$RB_SHIM" -- "$@"; }

opens() {  # what the agent opened for the tenant, on all its devices
  curl -s "http://127.0.0.1:7472/metrics" |
    awk '/^rdma_agent_opens_total/ && /tenant="suite"/ {sum += $NF} END {print sum + 0}'
}

run_suite() {  # run_suite NAME
  local start=$SECONDS
  pyverbs_suite "$1" "${DEVICES[0]}"
  figure "$1: tests that ran and passed" "$(<"$LAB_RESULTS/$1.counts")" "in $((SECONDS - start)) s"
}

scenario() {
  local id ran passed
  rxe_up 1
  chmod 666 /dev/infiniband/*
  RUNNER=(bare)
  run_suite bare
  agent_start
  check_eq "the nodes are the agent's now" "$(stat -c %a /dev/infiniband/uverbs*)" 600
  read -r id TOKEN < <(lease_make suite 1001 --device "${DEVICES[0]}" "${kLimits[@]}" --unknown deny)
  RUNNER=(leased)
  run_suite shim
  read -r ran passed <"$LAB_RESULTS/bare.counts"
  check_between "tests that ran" "$ran" 200 -
  check_between "tests that passed bare" "$passed" 60 -
  check_eq "as many ran under the shim" "$(cut -d' ' -f1 "$LAB_RESULTS/shim.counts")" "$ran"
  check "the same tests passed, bare and with the shim" \
    diff -U0 --label bare "$LAB_RESULTS/bare.passed" --label shim "$LAB_RESULTS/shim.passed"
  check_between "each test's device was opened by the agent" "$(opens)" "$ran" -
  check_soon "nothing is held afterwards" 5 holds_nothing "$id"
  ctl lease revoke "$id" >/dev/null
}

holds_nothing() {  # holds_nothing LEASE
  [ "$(lease_field "$1" '[.status.usage.used[]] | add')" = 0 ]
}
