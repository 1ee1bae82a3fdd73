#!/usr/bin/env bash
# README's two commands in a bare root of a release of Debian, from nothing but what debootstrap puts there:
#   bash tests/roots.sh SUITE                 both commands; SUITE is bookworm, trixie, testing, sid, ...
#   bash tests/roots.sh SUITE quickstart      the first one alone
#   bash tests/roots.sh SUITE -- COMMAND      a command of your own, in the root that is there, with the sources as they are now
# The root is build/roots/SUITE (SOFTAMP_ROOTS: another folder for roots), and is made anew by the first two. Takes what git
# tracks and what is new. Needs root's rights and the network; prints how long each command took.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
  echo "roots.sh: $1" >&2
  exit "${2:-1}"
}

suite=${1:-}
[[ $suite =~ ^[a-z]+$ ]] || fail "'$suite' is not the name of a release; expected bookworm, trixie, testing, sid or another" 2
commands=('bash examples/quickstart.sh' 'bash tests/run.sh')
anew=yes
case ${2:-} in
  '') ;;
  quickstart) commands=("${commands[0]}") ;;
  --) commands=("${*:3}") anew= ;;
  *) fail "'$2' is not known; expected quickstart or -- COMMAND" 2 ;;
esac
[ "$(id -u)" -eq 0 ] || fail "expected root's rights, which debootstrap and chroot need"
if ! command -v debootstrap >/dev/null; then
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends debootstrap >/dev/null ||
    fail "debootstrap is not here, and apt-get did not install it"
fi
mkdir -p "${SOFTAMP_ROOTS:-build/roots}"
root=$(cd "${SOFTAMP_ROOTS:-build/roots}" && pwd)/$suite

if [ -n "$anew" ]; then
  rm -rf --one-file-system "$root"
  # From the archive that apt has its lists from; debootstrap's own where apt names none. A release that debootstrap does not
  # know yet is made as sid is.
  archive=$(apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' 'Label: Debian' 2>/dev/null | head -n 1 || true)
  script=/usr/share/debootstrap/scripts/$suite
  [ -e "$script" ] || script=/usr/share/debootstrap/scripts/sid
  debootstrap --variant=minbase "$suite" "$root" "$archive" "$script" >"$root.log" 2>&1 ||
    fail "debootstrap $suite: $(grep '^E:' "$root.log" | tail -n 1); the whole log: $root.log"
fi
[ -d "$root/proc" ] || fail "$root is no root yet; expected 'bash tests/roots.sh $suite' before"

# What of this machine the root is given: names of hosts, and certificates for pip.
cp /etc/resolv.conf "$root/etc/resolv.conf"
if [ -f /etc/ssl/certs/ca-certificates.crt ]; then
  mkdir -p "$root/etc/ssl/certs"
  cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
fi
mkdir -p "$root/softamp"
{ git ls-files -z -co --exclude-standard 2>/dev/null || find . -path './build*' -prune -o -path ./.git -prune -o -type f -print0; } |
  tar -c --null --ignore-failed-read -T - 2>/dev/null | tar -x -C "$root/softamp"

# With /proc, /sys and /dev, in namespaces of its own, whose processes end with it; of the environment nothing but what is named.
in_root() {
  unshare --mount --pid --fork --kill-child bash -c '
    mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && mount --rbind /sys "$0/sys" && mount -t tmpfs shm "$0/dev/shm" || exit 125
    exec chroot "$0" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
      PIP_CERT=/etc/ssl/certs/ca-certificates.crt SOFTAMP_SLICE="'"${SOFTAMP_SLICE:-}"'" bash -c "cd /softamp && $1"' "$root" "$1"
}

failed=0
for command in "${commands[@]}"; do
  start=$SECONDS status=0
  in_root "$command" || status=$?
  [ "$status" -eq 0 ] || failed=1
  echo "roots: $suite: $command: exit code $status, $((SECONDS - start)) s"
done
exit "$failed"
