# Programs that reach libibverbs by other ways than its symbols: dlopen with RTLD_LOCAL and dlvsym, as
# the big communication libraries do, and librdmacm, on rxe and on siw. Each runs bare first.
#lab time_s=170

readonly kApp=$RB_BUILD/tests/lab/tools/dlvsym_app
readonly kRateMib=4 kSendMib=16 kBurstMib=1

job() { ctl run --lease-token "$TOKEN" --uid 1001 --rdma-cm --shim "$RB_SHIM" -- "$@"; }

sent() { sed -n "s/.*$1 \([0-9.]*\).*/\1/p" "$LAB_RESULTS/$2"; }  # sent FIELD FILE

# rping_run NAME PORT ADDRESS: both sides with RUNNER before them, data verified by rping itself.
rping_run() {
  local server status=0
  "${RUNNER[@]}" rping -s -V -a "$3" -p "$2" -C 10 -S 4096 >"$LAB_RESULTS/$1.server" 2>&1 &
  server=$!
  if wait_until 20 listens "$2"; then
    "${RUNNER[@]}" rping -c -V -v -a "$3" -p "$2" -C 10 -S 4096 >"$LAB_RESULTS/$1.client" 2>&1 || status=$?
  else
    kill "$server"
    status="no server"
  fi
  wait "$server" || true  # rping's server ends with an error when its client is done
  if [ "$status" = 0 ] && [ "$(grep -c 'ping data: rdma-ping-' "$LAB_RESULTS/$1.client")" = 10 ]; then
    ok "$1: ten pings"
  else
    fail "$1: status $status"
    tail -n 10 "$LAB_RESULTS/$1".*
  fi
}

# The same programs without us: what they can do here at all.
control() {
  check_eq "bare: it finds both devices" "$("$kApp" list | sort | paste -sd' ')" "rxe0 siw0"
  "$kApp" send rxe0 $kSendMib >"$LAB_RESULTS/send.bare"
  figure "bare: dlvsym application on rxe" "$(sent mib_per_s send.bare)" MiB/s
  check_between "bare: it is faster than the rate it will get" "$(sent mib_per_s send.bare)" $((kRateMib * 5 / 4)) -
  check_eq "bare: eight queue pairs" "$("$kApp" qps rxe0 8)" "created 8 errno 0"
  RUNNER=()
  rping_run bare_rping_rxe 7174 "${ADDRESSES[0]}"
  rping_run bare_rping_siw 7175 10.9.1.1
  perf_run bare_bw_siw 18515 10.9.1.1 ib_write_bw -d siw0 -R -F -n 200 -s 65536
}

check_app() {
  local id before
  read -r id TOKEN < <(lease_make app 1001 --device rxe0 --rate ${kRateMib}MiB/s --burst ${kBurstMib}MiB --qps 3)
  check_eq "the dlvsym application sees the leased device only" "$(job "$kApp" list)" rxe0
  check_not "and nothing without the shim" job env -u LD_PRELOAD "$kApp" qps rxe0 1
  check_eq "a fourth queue pair is refused as by a full NIC" "$(job "$kApp" qps rxe0 8)" "created 3 errno 12"
  check "the refusal is an event" event_of "$id" limit_qps
  before=$(posted_bytes app)
  check "it sends to itself" sends_under_lease
  check_eq "every byte is counted" "$(($(posted_bytes app) - before))" $((kSendMib << 20))
  figure "dlvsym application, leased $kRateMib MiB/s" "$(sent mib_per_s send.leased)" MiB/s
  check_between "at its rate" "$(sent mib_per_s send.leased)" \
    "$(awk -v r=$kRateMib 'BEGIN {print r * 0.8}')" \
    "$(awk -v r=$kRateMib -v b=$kBurstMib -v s="$(sent seconds send.leased)" 'BEGIN {print r * 1.01 + b / s}')"
  ctl lease revoke "$id" >/dev/null
}

sends_under_lease() { job "$kApp" send rxe0 $kSendMib >"$LAB_RESULTS/send.leased"; }

check_app_on_siw() {  # no loopback there without rdma_cm, but everything up to the connection
  local id
  read -r id TOKEN < <(lease_make iwarp 1001 --device siw0 --qps 3)
  check_eq "on siw it sees the leased device only" "$(job "$kApp" list)" siw0
  check_eq "and is refused a fourth queue pair" "$(job "$kApp" qps siw0 8)" "created 3 errno 12"
  check "which is an event too" event_of "$id" limit_qps
  ctl lease revoke "$id" >/dev/null
}

check_cm() {  # check_cm DEVICE PORT ADDRESS
  local id before
  read -r id TOKEN < <(lease_make "cm-$1" 1001 --device "$1")
  RUNNER=(job)
  rping_run "rping_$1" "$2" "$3"
  # One side reads what the other wrote: ten RDMA reads and writes, and sends of the two addresses.
  check_between "rping on $1: bytes are counted" "$(posted_bytes "cm-$1")" $((2 * 10 * 4096)) -
  if [ "$1" = siw0 ]; then
    before=$(posted_bytes cm-siw0)
    perf_run bw_siw 18516 "$3" ib_write_bw -d siw0 -R -F -n 200 -s 65536
    figure "ib_write_bw -R on siw under the shim" "$(perf_mib bw_siw)" MiB/s
    check_between "its bytes are counted" "$(($(posted_bytes cm-siw0) - before))" $((200 * 65536)) -
  fi
  check_soon "$1: nothing is held afterwards" 5 holds_nothing "$id"
  ctl lease revoke "$id" >/dev/null
}

holds_nothing() { [ "$(lease_field "$1" '[.status.usage.used[]] | add')" = 0 ]; }

scenario() {
  rxe_up 1
  veth_up 1
  siw_up lab1
  control
  agent_start
  check_app
  check_app_on_siw
  check_cm rxe0 7184 "${ADDRESSES[0]}"
  check_cm siw0 7185 10.9.1.1
}
