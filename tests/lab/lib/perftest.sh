# perftest and its figures. Its "MB/sec" is MiB/s, and -D n measures about the middle of n seconds.
#
# A run has a name; its logs are $LAB_RESULTS/NAME.server and NAME.client. RUNNER is an array of
# words put before each side, e.g. RUNNER=(tenant_run 1001 --); unset or empty for none.

declare -A PERF_SERVER=() PERF_CLIENT=() PERF_SECONDS=()
declare -a RUNNER=()

perf_server() {  # perf_server NAME PORT TOOL ARGUMENTS...: returns once it listens
  local name=$1 port=$2
  shift 2
  "${RUNNER[@]}" "$@" -p "$port" >"$LAB_RESULTS/$name.server" 2>&1 &
  PERF_SERVER[$name]=$!
  wait_until 20 listens "$port" || {
    show "$LAB_RESULTS/$name.server"
    die "$name: no server on port $port"
  }
}

perf_client() {  # perf_client NAME PORT ADDRESS TOOL ARGUMENTS...: in the background
  local name=$1 port=$2 address=$3
  shift 3
  PERF_SECONDS[$name]=$(duration_of "$@")
  "${RUNNER[@]}" "$@" -p "$port" "$address" >"$LAB_RESULTS/$name.client" 2>&1 &
  PERF_CLIENT[$name]=$!
}

duration_of() {  # the n of "-D n" among the words, else 0
  while [ $# -gt 1 ]; do
    if [ "$1" = -D ]; then
      echo "$2"
      return
    fi
    shift
  done
  echo 0
}

perf_start() {  # perf_start NAME PORT ADDRESS TOOL ARGUMENTS...: both sides in this machine
  local name=$1 port=$2 address=$3
  shift 3
  perf_server "$name" "$port" "$@"
  perf_client "$name" "$port" "$address" "$@"
}

# Waits for both sides that this machine started; status of the client (or of a lone server).
perf_wait() {
  local status=0
  [ -z "${PERF_SERVER[$1]:-}" ] || wait "${PERF_SERVER[$1]}" || status=$?
  if [ -n "${PERF_CLIENT[$1]:-}" ]; then
    status=0
    wait "${PERF_CLIENT[$1]}" || status=$?
  fi
  return "$status"
}

# perf_run: perf_start and perf_wait as one check "NAME ran"; shows the client's output otherwise.
perf_run() {
  local status=0
  perf_start "$@"
  perf_wait "$1" || status=$?
  if [ "$status" = 0 ]; then ok "$1 ran"; else
    fail "$1: exit status $status"
    show "$LAB_RESULTS/$1.client"
  fi
}

# Average bandwidth in MiB/s of a run's client; "none" when it printed no figure.
# perftest prints 0.00 when it could not calibrate its cycle counter ("Correlation coefficient",
# seen on a loaded host). With -D n its count of iterations is over the middle half of n seconds by
# the kernel's timer, so the figure then comes from that.
perf_mib() {
  awk -v seconds="${PERF_SECONDS[$1]:-0}" '
    /^Correlation coefficient/ {uncalibrated = 1}
    /^ *#bytes/ {in_table = 1; next}
    in_table && $1 ~ /^[0-9]+$/ {
      value = $4
      if (uncalibrated && value == 0 && seconds > 0) value = $1 * $2 / (seconds / 2) / 1048576
    }
    END {print value == "" ? "none" : value}' "$LAB_RESULTS/$1.client"
}

# Average (with -D) or typical latency in microseconds; "none" when it printed no figure.
perf_usec() {
  awk '/^ *#bytes/ {column = /t_typical/ ? 5 : 3; next}
       column && $1 ~ /^[0-9]+$/ {value = $column} END {print value == "" ? "none" : value}' \
    "$LAB_RESULTS/$1.client"
}
