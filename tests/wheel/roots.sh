#!/usr/bin/env bash
# Tries the wheels of a folder [=build/wheels] where there is nothing but Python: in a bare Debian 12 and a bare Debian 13,
# which debootstrap makes in build-wheels/roots/; then follows cmake/Containerfile, line by line, in the Debian 13.
#   bash tests/wheel/roots.sh [FOLDER]      as root, on Debian with debootstrap
# Ends with 77 where it cannot: without root, debootstrap or a network.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/bare_root.sh

folder=${1:-build/wheels}
roots=$PWD/build-wheels/roots

skip() {
  echo "wheel roots: SKIPPED: $1"
  exit 77
}
fault=$(root_faults)
[ -z "$fault" ] || skip "$fault"

try() {
  local suite=$1 wheel=$2 root=$roots/$1
  if [ ! -e "$root.made" ]; then
    make_root "$suite" "$root" python3,python3-venv || skip "$suite was not made"
    touch "$root.made"
  fi
  rm -rf "$root/softamp"
  mkdir "$root/softamp"
  cp --parents README.md tests/house/readme_pages.py tests/wheel/try.py "$root/softamp"
  cp "$wheel" "$root/softamp"
  in_root "$root" "cd /softamp && python3 tests/wheel/try.py $(basename "$wheel")"
}

# Follows the last stage of the recipe.
follow_recipe() {
  local root=$roots/trixie word rest before="true"
  rm -rf "$root/opt/softamp"
  while read -r word rest; do
    case $word in
      FROM | '#'* | '') ;;
      COPY) cp -v ${rest% *} "$root${rest##* }" ;;
      RUN) in_root "$root" "$before && $rest" ;;
      ENV) before+=" && export $rest" ;;
      WORKDIR) before+=" && mkdir -p $rest && cd $rest" ;;
      ENTRYPOINT) in_root "$root" "$before && $(tr -d '[],"' <<<"$rest") sum --value 0.0001 --count 10000" ;;
      *)
        echo "wheel roots: cmake/Containerfile: '$word' is not known here" >&2
        return 1
        ;;
    esac || return 1
  done < <(sed -e ':a;/\\$/{N;s/\\\n *//;ba}' cmake/Containerfile | sed -n '/^FROM .* AS softamp$/,$p')
  in_root "$root" "$before && python -c 'import softamp; print(softamp.running_sum(0.0001, 10000))'" || return 1
  echo "wheel roots: the container's layer has $(du -sm "$root/opt/softamp" | cut -f 1) MB beside Python's"
}

mkdir -p "$roots"
status=0
try bookworm "$(ls "$folder"/softamp-*-cp311-cp311-manylinux*.whl)" || status=$?
try trixie "$(ls "$folder"/softamp-*-abi3-manylinux*.whl)" || status=$?
log=$roots/recipe.log
if ! follow_recipe >"$log" 2>&1 || ! grep -q '^final sum    0.25 ' "$log" || ! grep -qx 0.25 "$log"; then
  echo "wheel roots: cmake/Containerfile: its steps do not end in a container that computes; the end of $log:"
  tail -n 20 "$log"
  status=1
fi
tail -n 1 "$log"
exit $status
