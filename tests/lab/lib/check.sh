# Checks: one line each, counted in $LAB_RESULTS/checks. A failed check fails the scenario but does
# not stop it; require_* and die do. Works from subshells and background jobs too.

report() {  # report ok|FAILED TEXT
  printf '%-6s %s\n' "$1" "$2"
  printf '%s\t%s\n' "$1" "$2" >>"$LAB_RESULTS/checks"
}

note() { printf '       %s\n' "$*"; }
ok() { report ok "$*"; }
fail() { report FAILED "$*"; }

# Ends the scenario now, as a failure.
die() {
  fail "$*"
  exit 1
}

# figure NAME VALUE UNIT: a measured value, printed and kept in $LAB_RESULTS/figures.
figure() {
  printf '       %s: %s %s\n' "$1" "$2" "$3"
  printf '%s\t%s\t%s\n' "$1" "$2" "$3" >>"$LAB_RESULTS/figures"
}

# check TEXT COMMAND...: holds when the command succeeds. Its output is shown only when it does not.
# The command runs in this shell (not in a substitution), so it may wait for background jobs.
check() {
  local text=$1 log=$LAB_RESULTS/check.$BASHPID
  shift
  if "$@" >"$log" 2>&1; then ok "$text"; else
    fail "$text"
    show "$log"
  fi
  rm -f "$log"
}

check_not() {
  local text=$1 log=$LAB_RESULTS/check.$BASHPID
  shift
  if "$@" >"$log" 2>&1; then
    fail "$text (the command succeeded)"
    show "$log"
  else ok "$text"; fi
  rm -f "$log"
}

show() { tail -n 20 "$1" | sed 's/^/         | /'; }  # show FILE: its end, indented

require() {
  local text=$1 before
  before=$(grep -c '^FAILED' "$LAB_RESULTS/checks" || true)
  check "$@"
  [ "$(grep -c '^FAILED' "$LAB_RESULTS/checks" || true)" = "$before" ] || die "cannot go on without: $text"
}

check_eq() {  # check_eq TEXT GOT WANT
  if [ "$2" = "$3" ]; then ok "$1 ($2)"; else fail "$1: got '$2', want '$3'"; fi
}

# check_match TEXT STRING REGEX and check_no_match: extended regular expression, any line.
check_match() {
  if grep -Eq -- "$3" <<<"$2"; then ok "$1"; else fail "$1: no match for /$3/ in: ${2:0:400}"; fi
}

check_no_match() {
  if grep -Eq -- "$3" <<<"$2"; then fail "$1: /$3/ matches in: ${2:0:400}"; else ok "$1"; fi
}

check_file_match() {  # check_file_match TEXT FILE REGEX
  if grep -Eq -- "$3" "$2"; then ok "$1"; else
    fail "$1: no match for /$3/ in $2"
    show "$2"
  fi
}

# check_between TEXT VALUE LOW HIGH: decimals allowed; LOW or HIGH may be "-" for no bound.
# A VALUE that is not a number never holds.
check_between() {
  if awk -v v="$2" -v lo="$3" -v hi="$4" 'BEGIN {
      number = "^-?[0-9]+([.][0-9]+)?([eE][-+]?[0-9]+)?$"
      exit !(v ~ number && (lo == "-" || v + 0 >= lo + 0) && (hi == "-" || v + 0 <= hi + 0)) }'; then
    ok "$1 ($2)"
  else
    fail "$1: got '$2', want $3 .. $4"
  fi
}

# wait_until SECONDS COMMAND...: polls; its status tells whether it came true in time.
wait_until() {
  local limit_s=$1 start=$SECONDS
  shift
  until "$@" >/dev/null 2>&1; do
    [ $((SECONDS - start)) -lt "$limit_s" ] || return 1
    sleep 0.05
  done
}

check_soon() {  # check_soon TEXT SECONDS COMMAND...
  local text=$1
  shift
  check "$text" wait_until "$@"
}

# on_exit COMMAND...: undone in reverse order when the scenario ends, however it ends.
declare -a LAB_CLEANUPS=()
on_exit() { LAB_CLEANUPS=("$(printf '%q ' "$@")" "${LAB_CLEANUPS[@]}"); }
run_cleanups() {
  local command
  for command in "${LAB_CLEANUPS[@]}"; do eval "$command" >/dev/null 2>&1 || true; done
}
