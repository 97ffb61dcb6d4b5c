# The agent's inventory is what the system's own tools show, and it notices every change.
#lab time_s=240

probe() { "$RB_BUILD/tests/lab/tools/rdma_probe" "$@"; }

scenario() {
  rxe_up 2
  veth_up 5
  siw_up lab5
  probe inventory >"$LAB_RESULTS/inventory"

  check_eq "the devices that rdma shows" "$(awk '$1 == "device" {print $2}' "$LAB_RESULTS/inventory" | xargs)" \
    "$(rdma dev show | awk -F': ' '{print $2}' | sort | xargs)"
  check_match "shared namespaces" "$(cat "$LAB_RESULTS/inventory")" "^netns $(rdma system show | awk '{print $2}')\$"
  device_agrees rxe0
  device_agrees siw0
  check_eq "rxe0: GIDs" "$(grep -c '^gid rxe0/1/' "$LAB_RESULTS/inventory")" \
    "$(grep -c 'GID\[' "$LAB_RESULTS/devinfo.rxe0")"
  check_match "rxe is known by its driver" "$(line device rxe0)" ' driver=rxe driver_id=14 protocol=roce node_type=ca '
  check_match "siw is known by its driver" "$(line device siw0)" ' driver=siw driver_id=18 protocol=iw node_type=rnic '
  check_match "the address of a RoCE GID" "$(line gid "rxe1/1/$(gid_index rxe1)")" \
    ' 0000:0000:0000:0000:0000:ffff:0a09:0101 netdev=lab1 type=RoCE v2$'

  nodes
  changes
}

node_number() { grep -lx "$1" /sys/class/infiniband_verbs/uverbs*/ibdev | sed s/ibdev/dev/ | xargs cat; }
line() { grep -E "^$1 $2( |\$)" "$LAB_RESULTS/inventory"; }
field() { grep -oE " $2=[^ ]*" <<<"$1" | cut -d= -f2; }

device_agrees() {
  local device=$1 port
  ibv_devinfo -v -d "$device" >"$LAB_RESULTS/devinfo.$device"
  port=$(line port "$device/1")
  check_eq "$device: limits" "$(limits_seen "$device")" "$(limits_shown "$device")"
  check_eq "$device: capabilities" "$(grep -c "^capability $device " "$LAB_RESULTS/inventory")" \
    "$(capabilities_shown "$device")"
  check_eq "$device: node" "$(field "$(line device "$device")" number)" \
    "$(node_number "$device")"
  check_eq "$device: node GUID" "$(field "$(line device "$device")" node_guid)" "$(shown "$device" node_guid)"
  check_eq "$device: interface" "$(field "$port" netdev)" \
    "$(rdma link show "$device/1" | grep -oE 'netdev [^ ]*' | cut -d' ' -f2)"
  check_eq "$device: state" "PORT_$(field "$port" state | tr a-z A-Z)" "$(shown "$device" state)"
  check_eq "$device: MTU in use" "$(field "$port" active_mtu)" "$(shown "$device" active_mtu)"
  check_eq "$device: largest MTU" "$(field "$port" max_mtu)" "$(shown "$device" max_mtu)"
  check_eq "$device: rate" "$(($(field "$port" rate) / 100000000))" \
    "$(awk '{print $1 * 10}' "/sys/class/infiniband/$device/ports/1/rate")"
}

# The same limits from both sides, sorted, numbers in decimal.
limits_seen() { awk -v d="$1" '$1 == "limit" && $2 == d {print $3, $4}' "$LAB_RESULTS/inventory" | sort | xargs; }
limits_shown() {
  local name value
  while read -r name value _; do
    case ${name%:} in
      max_qp | max_qp_wr | max_sge | max_cq | max_cqe | max_mr | max_mr_size | max_pd | max_srq | max_srq_wr | \
        max_ah | max_mw | max_qp_rd_atom | max_mcast_grp | vendor_id | vendor_part_id | hw_ver)
        printf '%s %u\n' "${name%:}" "$((value))"
        ;;
    esac
  done <"$LAB_RESULTS/devinfo.$1" | sort | xargs
}
shown() { awk -v name="$2:" '$1 == name {print $2; exit}' "$LAB_RESULTS/devinfo.$1"; }
capabilities_shown() {  # the bits of device_cap_flags_ex
  local flags count=0
  flags=$(($(shown "$1" device_cap_flags_ex)))
  for (( ; flags; flags &= flags - 1)); do count=$((count + 1)); done
  echo "$count"
}

nodes() {
  chmod 666 /dev/infiniband/uverbs*
  chmod 666 /dev/infiniband/rdma_cm
  check_eq "takes every uverbs node" "$(probe restrict | awk '{print $2, $3}' | xargs)" \
    "uverbs0 was=666 uverbs1 was=666 uverbs2 was=666"
  check_eq "only root is left" "$(stat -c %a%u%g /dev/infiniband/uverbs* | sort -u)" 60000
  check_eq "rdma_cm stays" "$(stat -c %a /dev/infiniband/rdma_cm)" 666
  check_eq "the second time there is nothing to do" "$(probe restrict)" ""
  check_match "opens a device as for a tenant" "$(probe open rxe1)" \
    "^opened $(node_number rxe1)\$"
  check_not "not one that does not exist" probe open rxe7
}

changes() {
  local seen=$LAB_RESULTS/changes index_before
  probe watch 120 >"$seen" &
  on_exit kill $!
  wait_until 10 grep -q watching "$seen" || die "no watcher"

  ip addr add 10.9.0.77/24 dev lab0
  check_soon "an address is a change of ports" 10 grep -q ports "$seen"
  check_soon "and soon a GID" 10 eval 'probe inventory | grep -q "^gid rxe0/1/.*:0a09:004d "'
  ip link set lab0 down
  check_soon "a link that goes down is seen" 10 eval 'probe inventory | grep -q "^port rxe0/1 state=down"'
  check_eq "and no device changed" "$(grep -c devices "$seen" || true)" 0

  index_before=$(field "$(line device rxe1)" index)
  rdma link del rxe1
  check_soon "a device that goes is a change of devices" 10 grep -q devices "$seen"
  check_not "and is gone" eval 'probe inventory | grep -q "^device rxe1 "'
  check_not "and cannot be opened" probe open rxe1
  : >"$seen"
  rdma link add rxe1 type rxe netdev lab1
  check_soon "a device that comes is one too" 10 grep -q devices "$seen"
  check_soon "and is there with its limits" 10 eval 'probe inventory | grep -q "^limit rxe1 max_qp "'
  probe inventory >"$LAB_RESULTS/inventory"
  check "with another number" test "$(field "$(line device rxe1)" index)" != "$index_before"
  check_match "and a node that is open to all until it is taken" "$(probe restrict)" 'was='
}
