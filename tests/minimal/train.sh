#!/usr/bin/env bash
# train.sh MINIMAL FULL: `softamp train` of a minimal build against the full program's: the same logs and checkpoints to
# the byte, the same words for the same bad settings; what a minimal build lacks is said. MINIMAL may run elsewhere: .ci/run
# gives it the one of 64-bit Arm under qemu.
set -euo pipefail

minimal=$1
full=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset SOFTAMP_DATA
cd "$work"
run="--set train_images=64 --set test_images=32 --set batch_size=8"

failed() {
  echo "minimal train: $1"
  exit 1
}

# Logs, checkpoints, what is printed: runs with numbers of all kinds, one under a mechanism.
for settings in "--set precision=mixed --set loss_scale=tensorflow --set learning_rate=0.0137" \
  "--set precision=float16 --set stochastic_rounding=on --set optimizer=adam --set epsilon=1e-5 --set replicas=2" \
  "--mechanism policy=mixed_float16 --set seed=18446744073709551615"; do
  # The programs' names are the same; only the speed is not.
  for who in minimal full; do
    # shellcheck disable=SC2086 # words
    "${!who}" train $run $settings --set epochs=2 --log $who.log --checkpoint $who.npz >$who.out 2>$who.err || failed "$who: $(cat $who.err)"
    sed -i '/throughput/d; s/time so far.*//' $who.out
  done
  cmp minimal.log full.log || failed "logs differ: $settings"
  cmp minimal.npz full.npz || failed "checkpoints differ: $settings"
  diff minimal.out full.out && diff minimal.err full.err || failed "what is said differs: $settings"
done

# A run that the minimal program begins, the full one goes on with, and the minimal one ends.
settings="$run --set precision=float16 --set stochastic_rounding=on --set evaluate=false --quiet"
# shellcheck disable=SC2086
{
  "$full" train $settings --steps 8 --log whole.log --checkpoint whole.npz
  "$minimal" train $settings --steps 3 --log part.log --checkpoint part.npz
  "$full" train $settings --steps 5 --log part.log --checkpoint part.npz --resume part.npz
  "$minimal" train $settings --steps 8 --log part.log --checkpoint part.npz --resume part.npz
}
cmp whole.log part.log && cmp whole.npz part.npz || failed 'resuming changes bits'

# Settings, and what is wrong with them: the same text and exit code. A minimal build has no provenance.
same() {
  local code_minimal=0 code_full=0
  "$minimal" train "$@" >minimal.out 2>minimal.err || code_minimal=$?
  "$full" train "$@" >full.out 2>full.err || code_full=$?
  sed -i ':all; N; $!b all; s/,\n  "provenance": {.*\n  }\n}$/\n}/' full.out
  [ $code_minimal = $code_full ] && diff minimal.out full.out && diff minimal.err full.err ||
    failed "$* ends with $code_minimal, and the full one's with $code_full"
}
same --print-settings
same --set precision=mixed --set learning_rate=1e-3 --set threads=2 --print-settings
printf '{"network": "lenet5", "epsilon": 1e-7, "optimizer": "adam", "seed": 7}' >settings.json
same settings.json --set steps=3 --print-settings
for bad in lerning_rate=1 learning_rate=-1 learning_rate=abc learning_rate=1e999 batch_size=0 batch_size=1.5 seed=-1 steps=99999999999999 \
  network=resnet precision=fp12 loss_scale=x optimizer=sdg rho=0.5 behaviour=all,esr backend=emx threads=2000 =1 nothing mechanism=level=O9 \
  fold_scale_into_rate=yes clip_norm=0 random_bits=33 shuffle=1 network=$'\xff'; do
  same --set "$bad"
done
same --set data=/no/such/folder
same --steps 0
same --backend cpu
same --compare cpu
same --find-loss-scale --set precision=float16 --set generated=true
same --compare emu --steps 1 --set generated=true --set batch_size=2 --json
same --compare emu --log x.log
same missing.json

# IDX files: plain ones are read, gzipped ones are refused.
mkdir idx
idx() { # FILE COUNT: images of 28 x 28 and their labels, from the pattern of a program's own bytes
  { printf '\0\0\10\3' && printf "\\0\\0\\0\\$(printf %o "$2")\\0\\0\\0\\34\\0\\0\\0\\34" && head -c $((784 * $2)) "$full"; } >"idx/$1-images-idx3-ubyte"
  { printf '\0\0\10\1' && printf "\\0\\0\\0\\$(printf %o "$2")" && for ((i = 0; i < $2; ++i)); do printf "\\$((i % 8))"; done; } >"idx/$1-labels-idx1-ubyte"
}
idx train 32
idx t10k 16
same --data idx --set network=lenet5 --set batch_size=8 --set epochs=1 --steps 2 --json --quiet --set evaluate=false --print-settings
for who in minimal full; do
  "${!who}" train --data idx --set network=lenet5 --set batch_size=8 --steps 2 --log $who.log --quiet || failed "$who: IDX files"
done
cmp minimal.log full.log || failed 'logs of IDX files differ'
gzip -n idx/train-images-idx3-ubyte
code=0
"$minimal" train --data idx --set network=lenet5 2>minimal.err || code=$?
[ $code = 2 ] && grep -q 'train-images-idx3-ubyte.gz: byte 0: a gzipped file, and this build (SOFTAMP_MINIMAL=ON) unpacks nothing; expected it unpacked' minimal.err ||
  failed "a gzipped file: $code: $(cat minimal.err)"
code=0
"$minimal" train --mechanism recipe=full --set generated=true 2>minimal.err || code=$?
[ $code = 2 ] && grep -q 'has no regular expressions' minimal.err || failed "a recipe: $code: $(cat minimal.err)"
code=0
"$minimal" run graph.json 2>minimal.err || code=$?
[ $code = 2 ] && grep -q "softamp: 'run': a minimal build (SOFTAMP_MINIMAL=ON) has the verb train alone" minimal.err || failed 'another verb'
"$minimal" train --help | grep -q -- '--compare WORD'
"$minimal" --version | grep -q 'a minimal build'

# A signal: the state after the last whole step is kept, and resuming ends with the same bits.
settings="--set generated=true --set train_images=512 --set batch_size=32 --set evaluate=false --quiet"
# shellcheck disable=SC2086
"$minimal" train $settings --steps 40 --checkpoint whole.npz
# shellcheck disable=SC2086
"$minimal" train $settings --steps 40 --checkpoint cut.npz --log cut.log --threads 1 2>cut.err &
pid=$!
for ((i = 0; i < 400; ++i)); do
  [ -s cut.log ] && [ "$(wc -l <cut.log)" -gt 3 ] && break
  sleep 0.02
done
kill -TERM $pid
code=0
wait $pid || code=$?
case $code in
  0) ;; # it was faster than the signal
  143) grep -q 'interrupted after [0-9]* steps; continue with --resume cut.npz' cut.err || failed 'interrupted, and not said' ;;
  *) failed "interrupted: exit code $code: $(cat cut.err)" ;;
esac
# shellcheck disable=SC2086
"$minimal" train $settings --steps 40 --checkpoint cut.npz --log cut.log --resume cut.npz
cmp whole.npz cut.npz || failed 'an interrupted run ends with other bits'
echo 'minimal train: as the full program'
