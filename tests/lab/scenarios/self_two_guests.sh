# The lab itself: two guests joined by two links, and a capture that shows what is on the wire.
#lab guests=2 nics=2 time_s=90 memory_mib=1536

readonly kDscp=26

guest1() {
  link_up 2
  rdma_link_add rxe0 rxe eth0
  barrier links
  check "the second link reaches the peer" busybox ping -c 2 -W 5 "$(link_address 2 1)"
  capture_start wire eth0
  perf_server write_bw 18515 ib_write_bw -d rxe0 -F -D 4 -s 16384 -u 20 --tclass=$((kDscp << 2))
  share_put server_ready yes
  check "the server's side ended well" perf_wait write_bw
  capture_stop wire
  check_between "packets seen" "$(capture_packets wire)" 100 -
  check_match "the peer's data carries the class it asked" "$(capture_dscp wire "src host 10.8.0.2")" "^$kDscp [0-9]{2,}"
}

guest2() {
  link_up 2
  rdma_link_add rxe0 rxe eth0
  barrier links
  check_eq "values pass between guests" "$(share_get server_ready)" yes
  perf_client write_bw 18515 "$(link_address 1)" ib_write_bw -d rxe0 -F -D 4 -s 16384 -u 20 --tclass=$((kDscp << 2))
  check "ib_write_bw across the link" perf_wait write_bw
  figure "bare ib_write_bw between guests" "$(perf_mib write_bw)" MiB/s
  check_between "it moved data" "$(perf_mib write_bw)" 0.1 -
}
