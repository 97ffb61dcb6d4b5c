# The lab itself: the modules built for it. siw is a second provider; netdevsim has a rate per port.
#lab time_s=90

scenario() {
  siw_scenario
  netdevsim_scenario
}

siw_scenario() {
  veth_up 0
  siw_up lab0
  check_match "siw device" "$(rdma link show siw0/1)" 'state ACTIVE'
  rping -s -a 10.9.0.1 -p 7174 -C 20 >"$LAB_RESULTS/rping.server" 2>&1 &
  wait_until 10 listens 7174 || die "no rping server"
  check "rping" rping -c -a 10.9.0.1 -p 7174 -C 20
  wait $! || true
  perf_run siw_bw 18520 10.9.0.1 ib_write_bw -d siw0 -R -F -D 4 -s 65536
  check_between "ib_write_bw -R moves data" "$(perf_mib siw_bw)" 1 -
  figure "bare ib_write_bw on siw" "$(perf_mib siw_bw)" MiB/s
}

netdevsim_scenario() {
  local device=netdevsim/netdevsim10 port
  modprobe netdevsim
  echo "10 1" >/sys/bus/netdevsim/new_device
  on_exit sh -c 'echo 10 >/sys/bus/netdevsim/del_device'
  echo 2 >/sys/bus/netdevsim/devices/netdevsim10/sriov_numvfs
  devlink dev eswitch set "$device" mode switchdev
  port=$(devlink port function rate show | awk -F: '/leaf/ {print $1 ":" $2; exit}' | sed 's/:*$//;s/: type.*//')
  note "rate leaf $port"
  check "a rate is taken" devlink port function rate set "$port" tx_max 10mbit
  check_match "and shown" "$(devlink port function rate show "$port")" 'tx_max 10[Mm]bit'
}
