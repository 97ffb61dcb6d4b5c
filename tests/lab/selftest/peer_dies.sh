# For runner_test.py: one guest of two panics while the other waits for it.
#lab guests=2 time_s=90 memory_mib=768
guest1() {
  barrier start
  echo c >/proc/sysrq-trigger
}
guest2() {
  barrier start
  barrier never 80
}
