# The product's programs, from the build folder $RB_BUILD.

RB_AGENT=$RB_BUILD/agent/rdma-agent
RB_CTL=$RB_BUILD/cli/rdmactl
RB_SHIM=$RB_BUILD/shim/librdma-shim.so
RB_RUN_DIR=/run/rdma-broker
RB_ADMIN=$RB_RUN_DIR/admin.sock
AGENT_PID=

# agent_start [ARGUMENTS...]: returns once its admin API answers. Log: $LAB_RESULTS/agent.log.
agent_start() {
  [ -x "$RB_AGENT" ] || die "no $RB_AGENT: build it first"
  "$RB_AGENT" "$@" >>"$LAB_RESULTS/agent.log" 2>&1 &
  AGENT_PID=$!
  on_exit agent_stop
  wait_until 20 agent_answers || {
    show "$LAB_RESULTS/agent.log"
    die "the agent does not answer on $RB_ADMIN"
  }
}

agent_answers() { kill -0 "$AGENT_PID" && curl -sf --max-time 2 --unix-socket "$RB_ADMIN" http://agent/v1/node; }

agent_stop() {
  [ -n "$AGENT_PID" ] || return 0
  kill "$AGENT_PID" 2>/dev/null || true
  wait "$AGENT_PID" 2>/dev/null || true
  AGENT_PID=
}

# As a crash: no chance to write or tell anything.
agent_kill() {
  kill -KILL "$AGENT_PID"
  wait "$AGENT_PID" 2>/dev/null || true
  AGENT_PID=
}

# api METHOD PATH [JSON]: body on stdout, HTTP status in the file that api_status reads.
api() {
  local method=$1 path=$2
  shift 2
  curl -s --max-time 10 -X "$method" --unix-socket "$RB_ADMIN" -o - -w '%{stderr}%{http_code}' \
    ${1+-H 'content-type: application/json' --data-binary "$1"} "http://agent$path" \
    2>/run/lab/api_status
}
api_status() { tail -c 3 /run/lab/api_status; }

metric() {  # metric NAME{LABELS}: its value, or "none"; ADDRESS by $RB_METRICS
  curl -s --max-time 5 "http://${RB_METRICS:-127.0.0.1:7472}/metrics" |
    awk -v want="$1" '$1 == want {value = $2} END {print value == "" ? "none" : value}'
}
