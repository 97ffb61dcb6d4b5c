# Unprivileged tenants: another user, no capabilities, no device node.

# tenant_run UID [--cm] [--shim] [--capabilities] [--env NAME=VALUE]... -- COMMAND...
#   --cm            /dev/infiniband/rdma_cm stays (a program that uses rdma_cm)
#   --shim          the command runs with our shim preloaded
#   --capabilities  keeps the bounding set and leaves no_new_privs off (what the agent refuses)
# Only the command sees the given environment, not the tools that prepare it.
tenant_run() {
  local uid=$1 cm=no restrict=(--no-new-privs --bounding-set=-all) environment=()
  shift
  while [ "$1" != -- ]; do
    case $1 in
      --cm) cm=yes ;;
      --shim) environment+=("LD_PRELOAD=$RB_SHIM") ;;
      --capabilities) restrict=() ;;
      --env) environment+=("$2") && shift ;;
      *) die "tenant_run: unknown option $1" ;;
    esac
    shift
  done
  shift
  LAB_CM=$cm unshare -m --propagation private bash -c '
    set -e
    keep=/run/lab/nodes.$$
    mkdir -p "$keep" /dev/infiniband
    if [ "$LAB_CM" = yes ]; then mount --bind /dev/infiniband "$keep"; fi
    mount -t tmpfs -o mode=755 tmpfs /dev/infiniband
    if [ "$LAB_CM" = yes ]; then
      : >/dev/infiniband/rdma_cm
      mount --bind "$keep/rdma_cm" /dev/infiniband/rdma_cm
      umount "$keep"
    fi
    rmdir "$keep"
    unset LAB_CM
    exec "$@"' tenant setpriv --reuid "$uid" --regid "$uid" --clear-groups --inh-caps=-all \
    "${restrict[@]}" env "${environment[@]}" "$@"
}
