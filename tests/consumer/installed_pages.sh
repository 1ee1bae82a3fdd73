#!/usr/bin/env bash
# installed_pages.sh PREFIX: manual page and completions lie where man and the shells look, and are what the program prints.
set -euo pipefail

prefix=$1
check() {
  local file=$prefix/share/$1
  shift
  [ -f "$file" ] || { echo "consumer: $file was not installed"; exit 1; }
  "$prefix/bin/softamp" "$@" | diff -q - "$file" || { echo "consumer: $file is not what 'softamp $*' prints"; exit 1; }
}
check man/man1/softamp.1 man
check bash-completion/completions/softamp completions bash
check zsh/site-functions/_softamp completions zsh
check fish/vendor_completions.d/softamp.fish completions fish
echo "consumer: the manual page and the completions of three shells are installed"
