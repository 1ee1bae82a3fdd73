# Bare roots of Debian's releases: other scripts source this file. They need root's rights, debootstrap and the network.

# root_faults: prints what stands in the way of making a root; nothing if all is there.
root_faults() {
  if [ "$(id -u)" -ne 0 ]; then
    echo "expected root's rights, which debootstrap and chroot need"
  elif ! command -v debootstrap >/dev/null &&
    ! DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends debootstrap >/dev/null 2>&1; then
    echo "debootstrap is not here, and apt-get did not install it"
  elif ! unshare --mount --pid --fork mount -t tmpfs tried /tmp 2>/dev/null; then
    echo "this system gives no namespaces in which to mount; expected a container with CAP_SYS_ADMIN, or a machine"
  elif [ -z "$(debian_archive)" ]; then
    echo "apt knows no archive of Debian; expected one in its lists, from which debootstrap takes its packages"
  fi
}

# debian_archive: the one that apt has its lists from; nothing where apt names none.
debian_archive() { apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' 'Label: Debian' 2>/dev/null | head -n 1 || true; }

# make_root SUITE ROOT [PACKAGE,...]: makes the folder ROOT anew, with what debootstrap puts there and the packages; a release that
# debootstrap does not know yet is made as sid is.
make_root() {
  local script=/usr/share/debootstrap/scripts/$1
  [ -e "$script" ] || script=/usr/share/debootstrap/scripts/sid
  rm -rf --one-file-system "$2"
  debootstrap --variant=minbase ${3:+--include="$3"} "$1" "$2" "$(debian_archive)" "$script" >"$2.log" 2>&1 && return
  echo "debootstrap $1: $(grep '^E:' "$2.log" | tail -n 1); the whole log: $2.log" >&2
  return 1
}

# in_root ROOT COMMAND [VARIABLE=VALUE...]: runs a line of bash in the root, in namespaces of its own with /proc, /sys and /dev, whose
# processes end with it. Its environment has PATH, HOME, LANG, how pip reaches PyPI, and the variables.
in_root() {
  local root=$1 variables=(PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8)
  if [ -n "${PIP_CERT:-}" ]; then
    cp "$PIP_CERT" "$root/root/pip.pem"
    variables+=(PIP_CERT=/root/pip.pem)
  fi
  [ -z "${PIP_INDEX_URL:-}" ] || variables+=("PIP_INDEX_URL=$PIP_INDEX_URL")
  cp /etc/resolv.conf "$root/etc/"
  setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child bash -c '
    mount -t proc proc "$0/proc" && mount --rbind /sys "$0/sys" && mount --rbind /dev "$0/dev" && mount -t tmpfs shm "$0/dev/shm" &&
      exec chroot "$0" env -i "${@:2}" bash -c "$1"' "$root" "$2" "${variables[@]}" "${@:3}"
}
