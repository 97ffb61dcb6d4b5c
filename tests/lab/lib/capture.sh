# Packets on a link, by tcpdump. RoCEv2 is UDP port 4791.

capture_start() {  # capture_start NAME NETDEV [FILTER]: returns once it captures
  tcpdump -Z root --immediate-mode -i "$2" -s 128 -U -w "$LAB_RESULTS/$1.pcap" "${3:-udp port 4791}" \
    2>"$LAB_RESULTS/$1.tcpdump" &
  echo $! >"/run/lab/capture.$1"
  wait_until 20 grep -q 'listening on' "$LAB_RESULTS/$1.tcpdump" || die "tcpdump does not start"
}

capture_stop() {
  local pid
  pid=$(cat "/run/lab/capture.$1")
  kill -INT "$pid"
  wait "$pid" || true
}

# capture_dscp NAME [FILTER]: lines "DSCP PACKETS", most packets first.
capture_dscp() {
  tcpdump -n -v -r "$LAB_RESULTS/$1.pcap" ${2:+"$2"} 2>/dev/null |
    sed -n 's/.*(tos 0x\([0-9a-f]*\).*/\1/p' | sort | uniq -c | sort -rn |
    while read -r packets tos; do echo "$((16#$tos >> 2)) $packets"; done
}

capture_packets() {  # capture_packets NAME [FILTER]
  tcpdump -n -r "$LAB_RESULTS/$1.pcap" ${2:+"$2"} 2>/dev/null | wc -l
}
