# RDMA devices of the lab and the links below them.
#
# rxe_up N gives DEVICES[i] (rxe0..) and ADDRESSES[i] (10.9.i.1), each on a veth pair of its own.
# 6.1's rxe works only in the initial network namespace.
# Links have MTU 4200 (LAB_MTU): RDMA packets of 4096 bytes, twice the rate of 1024 under emulation.

declare -a DEVICES=() ADDRESSES=()

veth_up() {  # veth_up I: veth pair lab<I>, lab<I>p with 10.9.I.1/24
  local mtu=${LAB_MTU:-4200}
  ip -batch - <<EOF_IP
link add lab$1 mtu $mtu type veth peer name lab${1}p mtu $mtu
link set lab$1 up
link set lab${1}p up
addr add 10.9.$1.1/24 dev lab$1
EOF_IP
  on_exit ip link del "lab$1"
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
  [ -c /dev/infiniband/rdma_cm ] || modprobe rdma_ucm
  rdma link add "$1" type "$2" netdev "$3"
  on_exit rdma link del "$1"
  wait_until 10 has_node "$1" || die "$1 has no device node"
  # RoCE addresses become GIDs a moment later, by a work queue.
  [ "$2" != rxe ] || wait_until 10 gid_index "$1" || die "$1 has no IPv4 GID"
}

# These use builtins only: a fork is slow under emulation, and they are polled.

uverbs_of() {  # uverbs_of DEVICE: the name of its device node, e.g. uverbs0
  local node name
  for node in /sys/class/infiniband_verbs/uverbs*; do
    read -r name <"$node/ibdev" && [ "$name" = "$1" ] && echo "${node##*/}" && return
  done
  return 1
}

has_node() {
  local node name
  for node in /sys/class/infiniband_verbs/uverbs*; do
    read -r name <"$node/ibdev" && [ "$name" = "$1" ] && [ -c "/dev/infiniband/${node##*/}" ] && return
  done
  return 1
}

# gid_index DEVICE: index of its first RoCEv2 GID that holds an IPv4 address.
gid_index() {
  local port=/sys/class/infiniband/$1/ports/1 i gid type
  for i in {0..15}; do
    read -r gid <"$port/gids/$i" || continue
    [[ $gid == 0000:0000:0000:0000:0000:ffff:* ]] || continue
    read -r type <"$port/gid_attrs/types/$i" || continue
    [ "$type" = "RoCE v2" ] && echo "$i" && return
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
