# Leases and jobs under them, by rdmactl as an operator would.

ctl() { "$RB_CTL" "$@"; }

# lease_make TENANT UID [OPTION...]: prints "ID TOKEN"; options are those of rdmactl lease create.
lease_make() {
  local tenant=$1 uid=$2
  shift 2
  ctl lease create --tenant "$tenant" --uid "$uid" "$@" -o json | jq -r '"\(.metadata.name) \(.status.token)"'
}

# as TOKEN UID COMMAND...: how a job starts under a lease that was made for it.
as() {
  local token=$1 uid=$2
  shift 2
  ctl run --lease-token "$token" --uid "$uid" --shim "$RB_SHIM" -- "$@"
}

lease_field() { ctl get lease "$1" -o json | jq -r "$2"; }  # lease_field ID JQ-PATH

event_of() {  # event_of LEASE REASON-OR-TYPE: whether there is such an event
  ctl events -o json | jq -e --arg lease "$1" --arg what "$2" \
    'any(.items[]; (.lease // "") == $lease and (.reason == $what or .type == $what))'
}

posted_bytes() {  # what a tenant's processes have posted so far, by the agent's metrics
  curl -s http://127.0.0.1:7472/metrics |
    awk -v tenant="tenant=\"$1\"" '/^rdma_agent_bytes_total/ && index($0, tenant) {sum += $NF} END {printf "%.0f\n", sum}'
}

# look_at TENANT: "UPTIME BYTES", the time being the middle of the look: a look may take a while.
look_at() {
  local early bytes late
  early=$(cut -d' ' -f1 /proc/uptime) bytes=$(posted_bytes "$1") late=$(cut -d' ' -f1 /proc/uptime)
  awk -v e="$early" -v l="$late" -v b="$bytes" 'BEGIN {printf "%.3f %d\n", (e + l) / 2, b}'
}

# rate_now TENANT SECONDS: MiB/s over that time.
rate_now() {
  local before after
  before=$(look_at "$1")
  sleep "$2"
  after=$(look_at "$1")
  awk -v b="$before" -v a="$after" 'BEGIN {
    split(b, from, " "); split(a, to, " ")
    printf "%.2f\n", (to[2] - from[2]) / (to[1] - from[1]) / 1048576 }'
}

within() {  # within FIGURE WANTED PERCENT
  awk -v f="$1" -v w="$2" -v p="$3" 'BEGIN {exit !(f >= w * (1 - p / 100) && f <= w * (1 + p / 100))}'
}

kernel_contexts() {  # contexts that the kernel charges to a lease; its cgroup is gone once it is empty
  { cat "/sys/fs/cgroup/rdma-broker/$1/rdma.current" 2>/dev/null || true; } |
    awk '{for (i = 2; i <= NF; i++) if (sub(/^hca_handle=/, "", $i)) sum += $i} END {print sum + 0}'
}
