# Two guests: who am I, waiting for each other, exchanging values.
#
# Goes through a folder that both guests mount, so it works before the links are up and while a
# scenario breaks them. $LAB_GUEST is 1 or 2.

peer() { echo $((3 - LAB_GUEST)); }

# barrier NAME [SECONDS]: returns when both guests are there. Each name serves once.
barrier() {
  : >"/run/lab/shared/barrier.$1.$LAB_GUEST"
  wait_until "${2:-60}" test -e "/run/lab/shared/barrier.$1.$(peer)" ||
    die "guest $(peer) did not come to barrier $1"
}

share_put() {  # share_put KEY VALUE
  printf '%s\n' "$2" >"/run/lab/shared/new.$1.$LAB_GUEST"
  mv "/run/lab/shared/new.$1.$LAB_GUEST" "/run/lab/shared/value.$1"
}

share_get() {  # share_get KEY [SECONDS]: waits for the value
  wait_until "${2:-60}" test -e "/run/lab/shared/value.$1" || die "nobody put a value for $1"
  cat "/run/lab/shared/value.$1"
}

# lab_wait_for HOST:PORT [SECONDS]: for servers that accept a connection that is closed at once.
# perftest's does not: use perf_server's own wait and a barrier there.
lab_wait_for() {
  wait_until "${2:-30}" bash -c "exec 3<>/dev/tcp/${1%:*}/${1##*:}" || die "nobody listens at $1"
}

listens() {  # listens PORT: as TCP or as an rdma_cm id in this machine
  ss -Hltn "sport = :$1" | grep -q . || rdma resource show cm_id | grep -Eq "LISTEN .*:$1( |\$)"
}
