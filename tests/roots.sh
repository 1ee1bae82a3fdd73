#!/usr/bin/env bash
# README's two commands in a bare root of a release of Debian, from nothing but what debootstrap puts there:
#   bash tests/roots.sh SUITE                 both commands, and then all tests; SUITE is bookworm, trixie, testing, sid, ...
#   bash tests/roots.sh SUITE quickstart      the first one alone
#   bash tests/roots.sh SUITE -- COMMAND      a command of your own, in the root that is there, with the sources as they are now
# The root is build/roots/SUITE (SOFTAMP_ROOTS: another folder for roots), and is made anew by the first two. Takes what git
# tracks and what is new. Needs root's rights and the network; prints how long each command took. Exit code 77: this system or its
# network gives no root; 1: a command failed.
set -euo pipefail
cd "$(dirname "$0")/.."
. tests/bare_root.sh

fail() {
  echo "roots.sh: $1" >&2
  exit "${2:-1}"
}

suite=${1:-}
[[ $suite =~ ^[a-z]+$ ]] || fail "'$suite' is not the name of a release; expected bookworm, trixie, testing, sid or another" 2
commands=('bash examples/quickstart.sh' 'bash tests/run.sh' 'bash tests/run.sh --all')
anew=yes
case ${2:-} in
  '') ;;
  quickstart) commands=("${commands[0]}") ;;
  --) commands=("${*:3}") anew= ;;
  *) fail "'$2' is not known; expected quickstart or -- COMMAND" 2 ;;
esac
fault=$(root_faults)
[ -z "$fault" ] || fail "$fault" 77
mkdir -p "${SOFTAMP_ROOTS:-build/roots}"
root=$(cd "${SOFTAMP_ROOTS:-build/roots}" && pwd)/$suite

[ -z "$anew" ] || make_root "$suite" "$root" || exit 77
[ -d "$root/proc" ] || fail "$root is no root yet; expected 'bash tests/roots.sh $suite' before"

mkdir -p "$root/softamp"
# What is as it was keeps its time, so that a build in the root goes on with what has changed; what is gone here goes there.
{ git ls-files -z -co --exclude-standard 2>/dev/null || find . -path './build*' -prune -o -path ./.git -prune -o -type f -print0; } |
  while IFS= read -r -d '' file; do
    [ ! -f "$file" ] || cmp -s "$file" "$root/softamp/$file" || cp --parents "$file" "$root/softamp"
  done
(cd "$root/softamp" && find . -path './build*' -prune -o -type f -print0) |
  while IFS= read -r -d '' file; do
    [ -f "$file" ] || rm "$root/softamp/$file"
  done

failed=0
for command in "${commands[@]}"; do
  start=$SECONDS status=0
  in_root "$root" "cd /softamp && $command" ${SOFTAMP_SLICE:+"SOFTAMP_SLICE=$SOFTAMP_SLICE"} \
    "SOFTAMP_NO_SKIP=${SOFTAMP_NO_SKIP:-}" || status=$?
  [ "$status" -eq 0 ] || failed=1
  echo "roots: $suite: $command: exit code $status, $((SECONDS - start)) s"
done
exit "$failed"
