# Bad input to everything that the agent listens on: each case ends with the right status or a closed
# connection, nothing has changed, and the same agent goes on serving.
#lab guests=1 time_s=300

TOOLS=$LAB_REPO/tests/lab/tools
TENANT_SOCKET=$RB_RUN_DIR/tenant/agent.sock

# The tools print "ok" or "FAILED", a tab and what was checked, one case a line.
run_cases() {
  local held text
  "$@" >"$LAB_RESULTS/cases" || true
  while IFS=$'\t' read -r held text; do report "$held" "$text"; done <"$LAB_RESULTS/cases"
}

as_uid() { setpriv --reuid "$1" --regid "$1" --clear-groups --no-new-privs "${@:2}"; }

# Everything of every lease but the time that passes.
leases_now() { api GET /v1/leases | jq -cS 'del(.items[].status.expires_in_seconds)'; }
no_process() { [ "$(api GET /v1/processes | jq '.items | length')" = 0 ]; }
descriptors() { ls "/proc/$AGENT_PID/fd" | wc -l; }
descriptors_are() { [ "$(descriptors)" = "$1" ]; }

lease_for() { api POST /v1/leases "$1" | jq -r '"\(.metadata.name) \(.status.token // "-")"'; }

check_unchanged() {  # check_unchanged AFTER-WHAT
  check_soon "after $1 no process is left attached" 10 no_process
  leases_now >"$LAB_RESULTS/leases.after"
  check "after $1 every lease is as it was" diff "$LAB_RESULTS/leases.before" "$LAB_RESULTS/leases.after"
  check "after $1 the same agent answers" agent_answers
}

check_crowd() {  # as many idle connections as one user may have; with a lease, so they may stay
  local many="$TOOLS/idle_connections.py" crowd
  local api="curl -sf -o /dev/null --max-time 10 --unix-socket $RB_ADMIN http://agent/v1/leases"
  local other="$many --uid 1003 $TENANT_SOCKET 1 -- true"
  local more="$many --uid 1001 $TENANT_SOCKET 1 -- true"
  crowd=$("$many" --uid 1001 "$TENANT_SOCKET" 1024 -- \
    sh -c "$api && echo admin; $other && echo other; $more || true")
  check_match "with 1024 idle connections of one user the admin API answers" "$crowd" '^admin$'
  check_match "another user is served" "$crowd" '^other$'
  check_match "one more of the same user is not" "$crowd" '^connection 1 of 1 was closed$'
  check_match "which is counted" "$(metric 'rdma_agent_refusals_total{reason="connections"}')" '^[1-9]'
}

scenario() {
  local alice bob bob_token fds
  rxe_up 2
  agent_start
  read -r alice _ <<<"$(lease_for '{"spec": {"tenant": "alice", "devices": {"names": ["rxe0"]},
    "workload": {"token": false, "uid": 1001}}}')"
  read -r bob bob_token <<<"$(lease_for '{"spec": {"tenant": "bob", "devices": {"names": ["rxe1"]},
    "workload": {"token": true, "uid": 1002}}}')"
  check_match "two leases" "$alice $bob" '^lease-[0-9a-f]{16} lease-[0-9a-f]{16}$'
  leases_now >"$LAB_RESULTS/leases.before"
  fds=$(descriptors)

  run_cases python3 "$TOOLS/bad_requests.py" "$RB_ADMIN" --lease "$alice"
  check_unchanged "the bad requests"
  run_cases as_uid 1001 python3 "$TOOLS/bad_frames.py" "$TENANT_SOCKET" --device rxe0 \
    --foreign-device rxe1 --foreign-token "$bob_token"
  check_unchanged "a lease holder's bad frames"
  check_not "a tenant cannot send a request at all" as_uid 1001 \
    curl -sf --max-time 5 --unix-socket "$RB_ADMIN" http://agent/v1/leases
  check_crowd
  check_unchanged "the crowd"
  check_soon "every descriptor that came along is closed" 10 descriptors_are "$fds"
  check_eq "the lease still gives its device" \
    "$(tenant_run 1001 --shim -- ibv_devices | awk 'NR > 2 {print $1}' | paste -sd' ')" rxe0
}
