# What a process holds on a device can be listed, attributed, stopped and destroyed from outside.
#lab time_s=240

probe() { "$RB_BUILD/tests/lab/tools/rdma_probe" "$@"; }

scenario() {
  rxe_up 1
  veth_up 5
  siw_up lab5
  waiting_process
  dead_creator
  traffic
  second_provider
}

held() { probe handles "$1" | awk -v kind="$2" '$2 == kind {sum += $3} END {print sum + 0}'; }

# A ping-pong server that waits for its client: one context, PD, CQ, MR and queue pair.
start_server() {
  "$@" ibv_rc_pingpong -d rxe0 -g "$(gid_index rxe0)" -n 200 >"$LAB_RESULTS/server" 2>&1 &
  server=$!
  wait_until 20 listens 18515 || die "no ibv_rc_pingpong server"
}

waiting_process() {
  local server before kind
  probe resources rxe0 >"$LAB_RESULTS/idle"
  start_server
  probe resources rxe0 >"$LAB_RESULTS/busy"
  probe record >"$LAB_RESULTS/record"
  for kind in pd cq qp mr ctx; do
    before=$(awk -v k="$kind" '$1 == "count" && $2 == k {print $3}' "$LAB_RESULTS/idle")
    check_match "one more $kind" "$(cat "$LAB_RESULTS/busy")" "^count $kind $((before + 1))\$"
  done
  check_eq "everything belongs to its context" \
    "$(grep -E "^(pd|qp|cq|mr) .*creator=$server\$" "$LAB_RESULTS/busy" | grep -oE 'ctx=[0-9]+' | sort -u | wc -l)" 1
  check_match "the queue pair has its number in rdma's list" "$(rdma resource show qp)" \
    "lqpn $(awk -v c="creator=$server" '$1 == "qp" && $NF == c {print $2}' "$LAB_RESULTS/busy") "
  for kind in pd cq qp mr; do check_eq "its file holds one $kind" "$(held "$server" "$kind")" 1; done
  check_eq "and no srq" "$(held "$server" srq)" 0

  check_match "stops it" "$(probe stop "$server")" '^stopped 1 refused 0'
  check_match "in the error state" "$(probe handles "$server")" '^queue_pair .*state=error'
  check_match "destroys it" "$(probe destroy "$server")" '^destroyed 4 clean 1'
  check_match "only the context is left" "$(probe resources rxe0)" "^ctx [0-9]+ creator=$server\$"
  check_no_match "of its objects nothing" "$(probe resources rxe0)" "^(pd|qp|cq|mr) .*creator=$server\$"
  check "the process lives" kill -0 "$server"
  kill "$server"
  wait "$server" || true
}

# The kernel forgets the pid of a dead creator while a child holds everything: attribution is by
# context number.
dead_creator() {
  local context child
  "$RB_BUILD/tests/lab/tools/rdma_orphan" rxe0 >"$LAB_RESULTS/orphan"
  child=$(cat "$LAB_RESULTS/orphan")
  on_exit kill "$child"
  probe resources rxe0 >"$LAB_RESULTS/orphaned"
  context=$(awk '$1 == "ctx" {print $2}' "$LAB_RESULTS/orphaned")
  check_match "a dead creator has no pid" "$(cat "$LAB_RESULTS/orphaned")" '^ctx [0-9]+ creator=-$'
  check_match "its PD still leads to the context" "$(cat "$LAB_RESULTS/orphaned")" "^pd [0-9]+ ctx=$context creator=-\$"
  check_eq "the child's file holds it" "$(held "$child" pd)" 1
  check_match "and is emptied" "$(probe destroy "$child")" '^destroyed [1-9][0-9]* clean 1'
  kill "$child"
}

traffic() {
  local client
  perf_start write 18520 "${ADDRESSES[0]}" ib_write_bw -d rxe0 -x "$(gid_index rxe0)" -F -D 60 -s 4096 --tclass 104
  client=${PERF_CLIENT[write]}
  wait_until 20 eval "probe handles $client | grep -q 'state=rts peer=[1-9][0-9]* path=1'" || die "no traffic"
  check_match "shows the class and the peer of a running queue pair" "$(probe handles "$client")" \
    '^queue_pair [0-9]+ state=rts peer=[0-9]+ path=1 traffic_class=104 '
  check_match "stops it under load" "$(probe stop "$client")" '^stopped 1 refused 0'
  check "the application sees the error and ends" wait_until 20 eval "! kill -0 $client"
  kill "${PERF_SERVER[write]}" 2>/dev/null || true
  check_not "with a failure" perf_wait write
}

# siw: another driver id, connections through rdma_cm only. Its query_qp reports no state.
second_provider() {
  local client
  rping -s -a 10.9.5.1 -p 7174 -C 100000 >"$LAB_RESULTS/rping.server" 2>&1 &
  on_exit kill $!
  wait_until 20 listens 7174 || die "no rping server"
  rping -c -a 10.9.5.1 -p 7174 -C 100000 >"$LAB_RESULTS/rping.client" 2>&1 &
  client=$!
  wait_until 20 eval '[ "$(held '"$client"' qp)" = 1 ]' || die "rping does not run"
  check_match "siw: lists and queries" "$(probe handles "$client")" '^queue_pair '
  check_match "siw: stops" "$(probe stop "$client")" '^stopped 1 refused 0'
  check_soon "siw: the application ends" 20 eval "! kill -0 $client"
  check_no_match "siw: and leaves nothing" "$(probe resources siw0)" "^(ctx|pd|qp|cq|mr) .*creator=$client\$"
}
