# Two tenants on one node with two NICs: what each may use, at which rate, and what happens past it.
#lab guests=1 time_s=150

readonly kSeconds=10

seen_devices() { as "$1" "$2" ibv_devices | awk 'NR > 2 {print $1}' | paste -sd' '; }

check_access() {
  local bob_id bob_token dave_token
  check_eq "alice sees her device only, of two" "$(seen_devices "$1" 1001)" rxe0
  check_eq "without the shim she sees none" "$(as "$1" 1001 env -u LD_PRELOAD ibv_devices | awk 'NR > 2' | wc -l)" 0
  check_eq "she runs as her own user" "$(as "$1" 1001 id -u)" 1001
  check_eq "and has no device node" "$(as "$1" 1001 sh -c 'ls -A /dev/infiniband | wc -l')" 0
  check_eq "nor a capability" "$(as "$1" 1001 sed -n 's/^CapPrm:[[:space:]]*//p;s/^CapBnd:[[:space:]]*//p' /proc/self/status | paste -sd' ')" \
    "0000000000000000 0000000000000000"
  read -r bob_id bob_token < <(lease_make bob 1002 --device rxe1)
  check_not "alice cannot open what only bob leased" as "$1" 1001 ibv_rc_pingpong -d rxe1
  check_not "nor use bob's token" as "$bob_token" 1001 true
  check_not "nor take bob's token along inside her own lease" \
    as "$1" 1001 env "RDMA_LEASE=$bob_token" sh -c 'ibv_devices | grep rxe1'
  check_not "nor reach the admin socket" as "$1" 1001 "$RB_CTL" get leases
  check_not "nor write the policy pages" as "$1" 1001 sh -c 'echo x > /run/rdma-broker/policy/*'
  check_eq "each device node is root's alone" "$(stat -c '%a %U' /dev/infiniband/uverbs* | sort -u)" "600 root"
  check "a wrong token is an event" event_of "" wrong_uid
  ctl lease revoke "$bob_id" >/dev/null
}

# Never above limit x 1.01 + burst, not below 80 %: machines are noisy, the limit is not.
check_rate() {  # check_rate TEXT MIB LIMIT_MIB SECONDS
  check_between "$1" "$2" "$(awk -v l="$3" 'BEGIN {print l * 0.8}')" \
    "$(awk -v l="$3" -v s="$4" 'BEGIN {print l * 1.01 + 1 / s}')"
}

check_rates() {  # of alice (20 MiB/s) and bob (10 MiB/s) at once
  RUNNER=(as "$1" 1001)
  perf_start alice 18515 "${ADDRESSES[0]}" ib_write_bw -d rxe0 -F -D $kSeconds
  RUNNER=(as "$2" 1002)
  perf_start bob 18516 "${ADDRESSES[0]}" ib_write_bw -d rxe0 -F -D $kSeconds
  check "alice's run ended well" perf_wait alice
  check "bob's run ended well" perf_wait bob
  figure "alice, 20 MiB/s leased" "$(perf_mib alice)" MiB/s
  figure "bob, 10 MiB/s leased" "$(perf_mib bob)" MiB/s
  check_rate "alice keeps to 20 MiB/s" "$(perf_mib alice)" 20 $((kSeconds / 2))
  check_rate "bob keeps to 10 MiB/s" "$(perf_mib bob)" 10 $((kSeconds / 2))
}

check_limit() {  # ID TOKEN
  RUNNER=(as "$2" 1001)
  perf_start four 18517 "${ADDRESSES[0]}" ib_write_bw -d rxe0 -F -n 100 -q 4
  check_not "a fourth queue pair on a lease of two is refused" perf_wait four
  check_file_match "the application could not create a QP" "$LAB_RESULTS/four.client" "create QP"
  check_soon "an event names the limit" 5 event_of "$1" limit_qps
  check_between "a metric counts it" "$(metric 'rdma_agent_denials_total{limit="qps",tenant="alice"}')" 1 -
  check_eq "nothing is held afterwards" "$(lease_field "$1" .status.usage.used.qps)" 0
  RUNNER=(as "$2" 1001)
  perf_run two 18518 "${ADDRESSES[0]}" ib_write_bw -d rxe0 -F -n 20
}

check_patch_and_revoke() {  # ALICE_ID ALICE_TOKEN BOB_TOKEN
  local rate
  RUNNER=(as "$3" 1002)
  perf_start stays 18520 "${ADDRESSES[0]}" ib_write_bw -d rxe0 -F -D 14
  RUNNER=(as "$2" 1001)
  perf_start goes 18521 "${ADDRESSES[0]}" ib_write_bw -d rxe0 -F -D 40
  sleep 2
  check "a running job's rate is changed to 5 MiB/s" ctl lease patch "$1" --rate 5MiB/s
  rate=$(rate_now alice 4)
  figure "alice, 5 MiB/s by PATCH" "$rate" MiB/s
  check_rate "she keeps to 5 MiB/s from the next post on" "$rate" 5 4
  check_between "the kernel charges her lease with her contexts" "$(kernel_contexts "$1")" 2 2
  check "her lease is revoked" ctl lease revoke "$1"
  check_not "her run ended with an error" perf_wait goes
  check_eq "the kernel holds no context of it" "$(kernel_contexts "$1")" 0
  check_eq "and no queue pair of her processes" "$(rdma resource show qp | grep -c ib_write_bw)" 2
  check_not "she gets nothing any more" as "$2" 1001 ibv_devinfo -d rxe0
  check "bob's run ended well" perf_wait stays
  check_rate "at his rate" "$(perf_mib stays)" 10 7
}

scenario() {
  local alice_id alice bob_id bob
  rxe_up 2
  agent_start
  read -r alice_id alice < <(lease_make alice 1001 --device rxe0 --rate 20MiB/s --qps 2)
  check_access "$alice"
  read -r bob_id bob < <(lease_make bob 1002 --device rxe0 --rate 10MiB/s)
  check_rates "$alice" "$bob"
  check_limit "$alice_id" "$alice"
  check_patch_and_revoke "$alice_id" "$alice" "$bob"
  ctl lease revoke "$bob_id" >/dev/null
  check_eq "in the end nobody holds a context" "$(rdma resource show | sed -n 's/.*ctx \([0-9]*\).*/\1/p' | paste -sd' ')" "0 0"
  check "the agent lives" agent_answers
}
