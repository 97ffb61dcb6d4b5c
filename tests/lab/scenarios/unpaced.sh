# What costs nothing must cost nothing: a lease without rate and accounting leaves the data path the
# provider's own. And of two devices a process sees, and can open, the leased one only.
#lab time_s=130

readonly kApp=$RB_BUILD/tests/lab/tools/dlvsym_app

owner_of() { job "$kApp" owner "$1" | awk -v what="$2" '$1 == what {print $2}'; }

job() { as "$TOKEN" 1001 "$@"; }
# The nodes stay in sight: what hides the other device is then the shim alone.
job_with_nodes() { ctl run --keep-devices --lease-token "$TOKEN" --uid 1001 --shim "$RB_SHIM" -- "$@"; }

control() {
  PROVIDER=$("$kApp" owner rxe0 | awk '$1 == "post_send" {print $2}')
  check_match "bare: the provider posts" "$PROVIDER" '^librxe-rdmav[0-9]+\.so$'
  check_eq "bare: both devices" "$(ibv_devices | awk 'NR > 2 {print $1}' | sort | paste -sd' ')" "rxe0 rxe1"
  RUNNER=()
  perf_run bare_lat 18515 "${ADDRESSES[0]}" ib_write_lat -d rxe0 -F -n 400 -s 64
  perf_run bare_bw 18516 "${ADDRESSES[0]}" ib_write_bw -d rxe0 -F -n 200
}

check_one_of_two() {
  local other="errno 2"
  check_eq "one of two devices is leased, and seen" "$(job ibv_devices | awk 'NR > 2 {print $1}' | paste -sd' ')" rxe0
  check_eq "also by a program that looks by itself" "$(job_with_nodes "$kApp" list)" rxe0
  check_eq "the leased one opens by its path" "$(job "$kApp" open "/dev/infiniband/$(uverbs_of rxe0)")" "errno 0"
  check_eq "the other does not: ENOENT" "$(job "$kApp" open "/dev/infiniband/$(uverbs_of rxe1)")" "$other"
  check_eq "even where its node is in sight" "$(job_with_nodes "$kApp" open "/dev/infiniband/$(uverbs_of rxe1)")" "$other"
  check_not "nor by its name" job "$kApp" qps rxe1 1
}

# The fastest of 400 messages: other work on the host delays most of them, hardly ever all.
least_usec() { awk '/^ *#bytes/ {table = 1; next} table && $1 == 64 {print $3}' "$LAB_RESULTS/$1.client"; }

check_performance() {
  local bare leased
  RUNNER=(job)
  perf_run lat 18525 "${ADDRESSES[0]}" ib_write_lat -d rxe0 -F -n 400 -s 64
  perf_run bw 18526 "${ADDRESSES[0]}" ib_write_bw -d rxe0 -F -n 200
  bare=$(least_usec bare_lat) leased=$(least_usec lat)
  figure "least latency, bare and leased without rate" "$bare and $leased" us
  figure "ib_write_bw, bare and leased without rate" "$(perf_mib bare_bw) and $(perf_mib bw)" MiB/s
  check_between "a message takes no longer than bare, within a factor of two" "$leased" 0.1 \
    "$(awk -v bare="$bare" 'BEGIN {print bare * 2}')"
}

scenario() {
  local id
  rxe_up 2
  control
  agent_start
  read -r id TOKEN < <(lease_make plain 1001 --device rxe0 --accounting off)
  check_eq "without rate and accounting post_send is the provider's own" "$(owner_of rxe0 post_send)" "$PROVIDER"
  check_eq "so is poll_cq" "$(owner_of rxe0 poll_cq)" "$PROVIDER"
  check_one_of_two
  check_performance
  check_eq "nothing was counted" "$(posted_bytes plain)" 0
  check_eq "cat runs with the shim" "$(job cat <<<hello)" hello
  check_eq "and without an agent's socket" \
    "$(LD_PRELOAD=$RB_SHIM RDMA_AGENT_SOCKET=/nowhere setpriv --reuid 1001 --clear-groups cat <<<hello)" hello
  ctl lease revoke "$id" >/dev/null

  read -r id TOKEN < <(lease_make counted 1001 --device rxe0)
  check_eq "with accounting post_send is the shim's" "$(owner_of rxe0 post_send)" librdma-shim.so
  check_eq "but not post_recv" "$(owner_of rxe0 post_recv)" "$PROVIDER"
  ctl lease revoke "$id" >/dev/null
  read -r id TOKEN < <(lease_make paced 1001 --device rxe0 --accounting off --rate 10MiB/s)
  check_eq "with a rate too" "$(owner_of rxe0 post_send)" librdma-shim.so
  ctl lease revoke "$id" >/dev/null
}
