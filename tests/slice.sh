# Sourced. What is too long for every run is done in parts, and SOFTAMP_SLICE (a whole number) chooses the part [=a number of the
# commit, so that a commit that passed passes tomorrow; 1 in a source archive, which has none].
if [ -z "${SOFTAMP_SLICE:-}" ]; then
  SOFTAMP_SLICE=$(git rev-parse --verify --short=6 HEAD 2>/dev/null | cut -c1-6) || true
  SOFTAMP_SLICE=$((16#${SOFTAMP_SLICE:-1}))
fi
export SOFTAMP_SLICE
