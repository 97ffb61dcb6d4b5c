# RDMA devices of the lab and the links below them.
#
# rxe_up N gives DEVICES[i] (rxe0..) and ADDRESSES[i] (10.9.i.1), each on a veth pair of its own.
# 6.1's rxe works only in the initial network namespace.
# Links have MTU 4200 (LAB_MTU): RDMA packets of 4096 bytes, twice the rate of 1024 under emulation.

declare -a DEVICES=() ADDRESSES=()

veth_up() {  # veth_up I: veth pair lab<I>, lab<I>p with 10.9.I.1/24
  ip link add "lab$1" type veth peer name "lab${1}p"
  on_exit ip link del "lab$1"
  ip link set "lab$1" mtu "${LAB_MTU:-4200}" up
  ip link set "lab${1}p" mtu "${LAB_MTU:-4200}" up
  ip addr add "10.9.$1.1/24" dev "lab$1"
}

has_rxe() { modprobe rdma_rxe 2>/dev/null || [ -d /sys/module/rdma_rxe ]; }

rxe_up() {  # rxe_up N
  local i
  if [ "$LAB_NATIVE" = yes ] && ! has_rxe; then
    native_devices "$1"
    return
  fi
  has_rxe || die "this kernel has no rdma_rxe"
  for ((i = 0; i < $1; i++)); do
    veth_up "$i"
    rdma_link_add "rxe$i" rxe "lab$i"
    DEVICES[i]=rxe$i ADDRESSES[i]=10.9.$i.1
  done
}

rdma_link_add() {  # rdma_link_add NAME TYPE NETDEV: waits for the device node
  modprobe -a rdma_ucm ib_uverbs
  rdma link add "$1" type "$2" netdev "$3"
  on_exit rdma link del "$1"
  wait_until 10 test -c "/dev/infiniband/$(uverbs_of "$1")" || die "$1 has no device node"
  # RoCE addresses become GIDs a moment later, by a work queue.
  [ "$2" != rxe ] || wait_until 10 gid_index "$1" || die "$1 has no IPv4 GID"
}

uverbs_of() { basename "$(echo "/sys/class/infiniband/$1/device/infiniband_verbs/uverbs"* \
  "/sys/class/infiniband_verbs/"* | tr ' ' '\n' | while read -r d; do
  [ "$(cat "$d/ibdev" 2>/dev/null)" = "$1" ] && echo "$d"; done | head -n 1)"; }

# gid_index DEVICE: index of its first RoCEv2 GID that holds an IPv4 address.
gid_index() {
  local port=/sys/class/infiniband/$1/ports/1 i
  for i in {0..15}; do
    case $(cat "$port/gids/$i" 2>/dev/null) in
      0000:0000:0000:0000:0000:ffff:*)
        grep -q 'RoCE v2' "$port/gid_attrs/types/$i" && echo "$i" && return ;;
    esac
  done
  return 1
}

# siw_up NETDEV [NAME]: a second provider (soft iWARP), connected through rdma_cm only.
siw_up() {
  modprobe siw || die "this kernel has no siw"
  rdma_link_add "${2:-siw0}" siw "$1"
}

# Natively without rxe: the machine's own NICs, those with an IPv4 address and an active port.
native_devices() {
  local link device netdev address
  while read -r link netdev; do
    device=${link%/*}
    address=$(ip -4 -o addr show dev "$netdev" | awk '{split($4, a, "/"); print a[1]; exit}')
    [ -n "$address" ] && DEVICES+=("$device") ADDRESSES+=("$address")
  done < <(rdma link show | awk '/state ACTIVE/ {for (i = 1; i < NF; i++) if ($i == "netdev") print $2, $(i + 1)}')
  [ ${#DEVICES[@]} -ge "$1" ] || die "need $1 RDMA devices with an address, found ${#DEVICES[@]}"
}

# link_up [COUNT]: the guests' NICs to each other, eth0.. with 10.8.i.GUEST/24.
link_up() {
  local i
  for ((i = 0; i < ${1:-1}; i++)); do
    ip link set "eth$i" mtu "${LAB_MTU:-4200}" up
    ip addr add "10.8.$i.$LAB_GUEST/24" dev "eth$i"
  done
}
link_address() { echo "10.8.${2:-0}.$1"; }  # link_address GUEST [NIC]
