# The lab itself: a guest boots, Soft-RoCE moves data for programs of the distribution.
#lab time_s=90

scenario() {
  rxe_up 2
  check "two rxe devices" test "$(rdma link show | grep -c 'state ACTIVE')" = 2
  check "cgroup v2 has the rdma controller" grep -qw rdma /sys/fs/cgroup/cgroup.controllers

  pingpong
  perf_run write_bw 18515 "${ADDRESSES[0]}" ib_write_bw -d "${DEVICES[0]}" -F -D 4 -s 65536
  check_between "ib_write_bw moves data" "$(perf_mib write_bw)" 1 -
  figure "bare ib_write_bw" "$(perf_mib write_bw)" MiB/s

  check_not "a tenant without nodes has no device" tenant_run 1001 -- ibv_devinfo
  check_match "rdma_cm stays where asked" "$(tenant_run 1001 --cm -- ls /dev/infiniband)" '^rdma_cm$'
}

pingpong() {
  local gid
  gid=$(gid_index "${DEVICES[0]}")
  ibv_rc_pingpong -d "${DEVICES[0]}" -g "$gid" -n 200 >"$LAB_RESULTS/pingpong.server" 2>&1 &
  wait_until 10 listens 18515 || die "no ibv_rc_pingpong server"
  check "ibv_rc_pingpong" ibv_rc_pingpong -d "${DEVICES[0]}" -g "$gid" -n 200 "${ADDRESSES[0]}"
  wait $!
}
