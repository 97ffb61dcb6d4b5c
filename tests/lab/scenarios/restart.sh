# kill -9 of the agent while jobs run: traffic goes on, and the next agent has them in hand again
# although they make no control call.
#lab guests=1 time_s=130

check_between_kills() {  # TOKEN: what works, and what not, while there is no agent
  check "alice's job runs on without an agent" kill -0 "${PERF_CLIENT[job]}"
  check_not "a new process gets no device meanwhile" as "$1" 1001 ibv_devinfo -d rxe0
}

scenario() {
  local alice_id alice bob_id bob short_id short rate opens_before traffic_before
  rxe_up 1
  agent_start
  read -r alice_id alice < <(lease_make alice 1001 --rate 10MiB/s --qps 2)
  read -r bob_id bob < <(lease_make bob 1002 --rate 5MiB/s)
  read -r short_id short < <(lease_make carol 1003 --ttl 12s)
  RUNNER=(as "$alice" 1001)
  perf_start job 18515 "${ADDRESSES[0]}" ib_write_bw -d rxe0 -F -D 60
  RUNNER=(as "$bob" 1002)
  perf_start other 18516 "${ADDRESSES[0]}" ib_write_bw -d rxe0 -F -D 24
  sleep 3
  traffic_before=$(posted_bytes alice)
  opens_before=$(ctl get processes -o json | jq '.items | length')
  check_eq "four processes are attached" "$opens_before" 4

  agent_kill
  check_between_kills "$alice"
  sleep 2
  agent_start
  check_eq "all leases are back" "$(ctl get leases -o json | jq -c '[.items[].status.phase] | unique')" '["active"]'
  check_eq "so are the processes, without a call of theirs" "$(ctl get processes -o json | jq '.items | length')" 4
  check_eq "and what they hold" "$(lease_field "$alice_id" '"\(.status.usage.used.qps) \(.status.usage.used.contexts)"')" "2 2"
  check_between "bytes go on from where they were" "$(posted_bytes alice)" "$((traffic_before + 10000000))" -

  check "a PATCH reaches the running job" ctl lease patch "$alice_id" --rate 4MiB/s
  rate=$(rate_now alice 3)
  figure "alice, 4 MiB/s by PATCH after the restart" "$rate" MiB/s
  check_between "its rate follows" "$rate" 3.2 4.4
  RUNNER=(as "$alice" 1001)
  perf_start third 18517 "${ADDRESSES[0]}" ib_write_bw -d rxe0 -F -n 10
  check_not "its limit of two queue pairs still stands" perf_wait third

  agent_kill
  sleep 8
  agent_start
  check_soon "it expires at once when the agent is back" 5 \
    sh -c "'$RB_CTL' get lease '$short_id' -o json | jq -e '.status.phase == \"expired\"'"

  check "a revoke reaches the running job" ctl lease revoke "$alice_id"
  check_not "which ends with an error" perf_wait job
  check_eq "the kernel holds nothing of it" "$(kernel_contexts "$alice_id")" 0
  check "the other tenant's job never noticed" perf_wait other
  check_between "its rate neither" "$(perf_mib other)" 4 5.2
  check_eq "no cgroup of an ended lease is left" "$(ls -d /sys/fs/cgroup/rdma-broker/lease-*)" "/sys/fs/cgroup/rdma-broker/$bob_id"
}
