# The lease's traffic class is on the wire, whatever the application asked, on RC and on UD.
#lab guests=2 nics=1 time_s=100 memory_mib=1536

readonly kDscp=26   # class gradient-exchange
readonly kAsked=10  # what the application asks

seen_by() { capture_dscp "$1" "src host $(link_address "$LAB_GUEST")" | cut -d' ' -f1 | paste -sd' '; }

guest1() {
  local id token
  link_up 1
  rdma_link_add rxe0 rxe eth0
  barrier links
  agent_start
  read -r id token < <(lease_make alice 1001 --device rxe0 --traffic-class gradient-exchange)
  capture_start rc eth0
  RUNNER=(as "$token" 1001)
  perf_server rc 18515 ib_write_bw -d rxe0 -F -n 100 -s 4096 -u 20 -b --tclass=$((kAsked << 2))
  share_put rc_ready yes
  check "RC with the other host ended well" perf_wait rc
  capture_stop rc
  check_between "packets of the tenant" "$(capture_packets rc "src host $(link_address 1)")" 100 -
  check_eq "all carry the lease's DSCP although the application asked $kAsked" "$(seen_by rc)" $kDscp
  check_between "the rewrites are counted" "$(lease_field "$id" .status.usage.ops.write.messages)" 100 -

  read -r id token < <(lease_make carol 1003 --device rxe0 --traffic-class gradient-exchange --on-foreign-class refuse)
  RUNNER=(as "$token" 1003)
  perf_server refused 18516 ib_write_bw -d rxe0 -F -n 100 -s 4096 -u 20 --tclass=$((kAsked << 2))
  share_put refused_ready yes
  check_not "with on_foreign_class refuse the application is told no" perf_wait refused
}

guest2() {
  link_up 1
  rdma_link_add rxe0 rxe eth0
  barrier links
  share_get rc_ready 90 >/dev/null
  perf_client rc 18515 "$(link_address 1)" ib_write_bw -d rxe0 -F -n 100 -s 4096 -u 20 -b --tclass=$((kAsked << 2))
  check "the other host's side ended well" perf_wait rc
  share_get refused_ready 60 >/dev/null
  perf_client refused 18516 "$(link_address 1)" timeout 20 ib_write_bw -d rxe0 -F -n 100 -s 4096 -u 20
  check_not "and its peer has nobody to talk to" perf_wait refused
}
