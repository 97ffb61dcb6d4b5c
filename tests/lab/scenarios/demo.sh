# The demo: two tenants, unprivileged, without a device node, on one shared NIC (rxe0 of guest 1).
# Guest 2 is a host at the other end of the wire that knows nothing of rdma-broker.
#lab guests=2 nics=1 time_s=170 memory_mib=1536

readonly kSeconds=15
readonly kAliceDscp=26  # class gradient-exchange
ALICE='' BOB=''         # lease tokens

step() { printf '\n== %s\n' "$*"; }
shell() { printf '$ %s\n' "$*"; }
lease_of() { ctl get leases -o json | jq -r ".items[] | select(.spec.tenant == \"$1\") | .metadata.name"; }

make_leases() {
  step "two leases on rxe0: alice 20 MiB/s, 2 queue pairs, class gradient-exchange; bob 10 MiB/s"
  shell 'rdmactl lease create --tenant alice --uid 1001 --rate 20MiB/s --qps 2 --traffic-class gradient-exchange'
  ALICE=$(ctl lease create --tenant alice --uid 1001 --device rxe0 --rate 20MiB/s --qps 2 \
    --traffic-class gradient-exchange -o json | jq -r .status.token)
  BOB=$(ctl lease create --tenant bob --uid 1002 --device rxe0 --rate 10MiB/s -o json | jq -r .status.token)
  ctl get leases
  check_eq "both leases are active" "$(ctl get leases -o json | jq -c '[.items[].status.phase]')" '["active","active"]'
}

show_isolation() {
  step "a tenant's process: no privilege, no device node, one device"
  shell "rdmactl run --lease-token ... --uid 1001 -- sh -c 'id -u; ls /dev/infiniband; ibv_devices'"
  as "$ALICE" 1001 sh -c 'id -u; ls -A /dev/infiniband; ibv_devices | tail -n +3' | tee /run/lab/seen
  check_eq "it runs as uid 1001, sees no node and exactly one device" \
    "$(awk '{print $1}' /run/lab/seen | paste -sd' ')" "1001 rxe0"
  check_eq "without the shim the same process sees no device" \
    "$(as "$ALICE" 1001 env -u LD_PRELOAD ibv_devices | tail -n +3 | wc -l)" 0
  check_not "alice's token is refused to bob's user" as "$ALICE" 1002 true
  check_not "a tenant cannot reach the admin socket" as "$ALICE" 1001 "$RB_CTL" get leases
}

show_rates() {
  step "both run an unmodified ib_write_bw at once for $kSeconds s"
  RUNNER=(as "$ALICE" 1001)
  perf_start alice 18515 "$(link_address 1)" ib_write_bw -d rxe0 -F -D $kSeconds
  RUNNER=(as "$BOB" 1002)
  perf_start bob 18516 "$(link_address 1)" ib_write_bw -d rxe0 -F -D $kSeconds
  check "alice's ib_write_bw ended well" perf_wait alice
  check "bob's ib_write_bw ended well" perf_wait bob
  figure "alice, 20 MiB/s leased" "$(perf_mib alice)" MiB/s
  figure "bob, 10 MiB/s leased" "$(perf_mib bob)" MiB/s
  check "alice gets her 20 MiB/s within 3 %" within "$(perf_mib alice)" 20 3
  check "bob gets his 10 MiB/s within 3 %" within "$(perf_mib bob)" 10 3
}

show_limit() {
  step "a limit: alice leased 2 queue pairs and asks for 4"
  local before after
  before=$(metric 'rdma_agent_denials_total{limit="qps",tenant="alice"}')
  RUNNER=(as "$ALICE" 1001)
  perf_start four 18517 "$(link_address 1)" ib_write_bw -d rxe0 -F -n 100 -q 4
  check_not "ib_write_bw -q 4 fails" perf_wait four
  show "$LAB_RESULTS/four.client"
  check_file_match "because it could not create a queue pair" "$LAB_RESULTS/four.client" "create QP"
  check_soon "the refusal is an event that names the limit" 5 denial_event
  ctl events | grep denied | tail -n 1
  after=$(metric 'rdma_agent_denials_total{limit="qps",tenant="alice"}')
  figure "rdma_agent_denials_total{limit=\"qps\"}, before and after" "$before and $after" refusals
  check_between "and a metric" "$after" 1 -
}

denial_event() { ctl events -o json | jq -e '.items[] | select(.reason == "limit_qps" and .tenant == "alice")'; }

show_class() {
  step "the traffic class: alice's job asks for none, her lease says DSCP $kAliceDscp"
  capture_start wire eth0
  RUNNER=(as "$ALICE" 1001)
  perf_server wire 18518 ib_write_bw -d rxe0 -F -n 200 -s 4096 -u 20 --bidirectional
  share_put server_ready yes
  check "ib_write_bw with the other host ended well" perf_wait wire
  capture_stop wire
  figure "packets of alice on the wire by DSCP" "$(capture_dscp wire "src host $(link_address 1)" | paste -sd,)" "(DSCP packets)"
  check_eq "every packet that alice sends carries it" \
    "$(capture_dscp wire "src host $(link_address 1)" | cut -d' ' -f1 | paste -sd' ')" "$kAliceDscp"
}

show_patch() {
  step "a change while the job runs: alice from 20 to 5 MiB/s"
  RUNNER=(as "$ALICE" 1001)
  perf_start patched 18519 "$(link_address 1)" ib_write_bw -d rxe0 -F -D 16
  sleep 2
  local before after
  before=$(rate_now alice 3)
  shell "rdmactl lease patch $(lease_of alice) --rate 5MiB/s"
  ctl lease patch "$(lease_of alice)" --rate 5MiB/s >/dev/null
  sleep 0.5
  after=$(rate_now alice 3)
  figure "alice before the change" "$before" MiB/s
  figure "alice after the change" "$after" MiB/s
  check "she ran at 20 MiB/s before, within 10 %" within "$before" 20 10
  check "she runs at 5 MiB/s after, within 10 %" within "$after" 5 10
  check "her job was not disturbed" perf_wait patched
}

show_revoke() {
  step "a lease is taken back while both run"
  RUNNER=(as "$BOB" 1002)
  perf_start stays 18520 "$(link_address 1)" ib_write_bw -d rxe0 -F -D 10
  RUNNER=(as "$ALICE" 1001)
  perf_start goes 18521 "$(link_address 1)" ib_write_bw -d rxe0 -F -D 10
  sleep 3
  rdma resource show qp | grep ib_write_bw || true
  shell "rdmactl lease revoke $(lease_of alice)"
  local start_ns end_ns id
  id=$(lease_of alice)
  start_ns=$(date +%s%N)
  ctl lease revoke "$id"
  end_ns=$(date +%s%N)
  figure "revoke, from the command to nothing left" "$(((end_ns - start_ns) / 1000000))" ms
  check_not "alice's job ended with an error" perf_wait goes
  check_eq "the kernel holds nothing of the lease" "$(ctl get lease "$id" -o json | jq -r .status.phase) $(kernel_contexts "$id")" "revoked 0"
  rdma resource show qp | grep ib_write_bw || true
  check_not "alice gets no device any more" as "$ALICE" 1001 true
  check "bob's job ended well" perf_wait stays
  figure "bob across alice's revoke" "$(perf_mib stays)" MiB/s
  check "at his rate, within 3 %" within "$(perf_mib stays)" 10 3
  ctl lease revoke "$(lease_of bob)" >/dev/null
  check_eq "in the end nobody holds a context" "$(rdma resource show | sed -n 's/.*ctx \([0-9]*\).*/\1/p')" 0
}

guest1() {
  link_up 1
  rdma_link_add rxe0 rxe eth0
  barrier links
  agent_start
  make_leases
  show_isolation
  show_rates
  show_limit
  show_class
  show_patch
  show_revoke
}

guest2() {
  link_up 1
  rdma_link_add rxe0 rxe eth0
  barrier links
  share_get server_ready 150 >/dev/null
  perf_client wire 18518 "$(link_address 1)" ib_write_bw -d rxe0 -F -n 200 -s 4096 -u 20 --bidirectional
  check "the other host's side ended well" perf_wait wire
}
