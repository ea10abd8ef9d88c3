#!/bin/sh
# Checks and measures computing on a real GPU, on a machine without this repository, npm, Node.js or a network:
#
#   scripts/gpu-compute-check.sh --pack FOLDER       packs everything that travels, less than 64 MiB; needs a built repository
#   sh FOLDER/gpu-compute-check.sh check [OUT]       there, in 240 s: doctor, kernels, bits, losses, compute-sanitizer
#   sh FOLDER/gpu-compute-check.sh compare [OUT]     there, in 300 s: steps beside PyTorch and JAX, NCCL inside the step
#   scripts/gpu-compute-check.sh --fake [OUT]        a short form of both over fakes of NVIDIA's libraries, part of npm test
#
# The machine needs an NVIDIA driver, and Python with NVIDIA's wheels, as PyTorch installs them (RINGRUN_CHECK_PYTHON; default:
# python3). OUT (default: the variable OUT, or ./out) receives check.jsonl, tests.jsonl and compare.jsonl, one line for each
# result when it is known, and check.log. The exit code is 0 if every check passed.
set -eu

# Node.js, the addon and onnxruntime; what an earlier call unpacked is kept.
unpack() {
  for name in node ringrun.node libonnxruntime.so; do
    [ -f "$unpacked/$name" ] && continue
    xz --decompress --stdout "$here/$name.xz" > "$unpacked/$name.part" 2> /dev/null ||
      python3 -c 'import lzma, shutil, sys; shutil.copyfileobj(lzma.open(sys.argv[1]), open(sys.argv[2], "wb"))' \
        "$here/$name.xz" "$unpacked/$name.part"
    chmod 755 "$unpacked/$name.part"
    mv "$unpacked/$name.part" "$unpacked/$name"
  done
}

packed() {
  here=$(cd "$(dirname "$0")" && pwd)
  unpacked=${TMPDIR:-/tmp}/ringrun-gpu-check-$(id -u)-$(cksum < "$here/ringrun.node.xz" | cut -d ' ' -f 1)
  mkdir -p -m 700 "$unpacked"
  unpack
  out=${1:-${OUT:-out}}
  export RINGRUN_NATIVE="$unpacked/ringrun.node" RINGRUN_ONNXRUNTIME_LIBRARY="$unpacked/libonnxruntime.so"
  export RINGRUN_GPU_CHECK=1
  # The wheels are found in the environment of PyTorch's Python.
  python=${RINGRUN_CHECK_PYTHON:-python3}
  VIRTUAL_ENV=$("$python" -c 'import sys; print(sys.prefix)' 2> /dev/null) && export VIRTUAL_ENV
}

fake() {
  cd "$(dirname "$0")/.."
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  eval "$(node --import tsx scripts/gpu-check/fake-environment.js)"
  node --import tsx scripts/gpu-check/pack.js "$folder/packed" --here
  out=${1:-$folder/out}
  status=0
  node "$folder/packed/check.js" "$out" 120 || status=$?
  node "$folder/packed/compare.js" "$out" 60 || status=$?
  exit "$status"
}

case "${1:-}" in
  --pack)
    cd "$(dirname "$0")/.."
    exec node --import tsx scripts/gpu-check/pack.js "${2:?gpu-compute-check.sh --pack FOLDER: name the folder}"
    ;;
  --fake)
    fake "${2:-}"
    ;;
  check)
    packed "${2:-}"
    exec "$unpacked/node" "$here/check.js" "$out" 230
    ;;
  compare)
    packed "${2:-}"
    exec "$unpacked/node" "$here/compare.js" "$out" 290
    ;;
  *)
    echo "gpu-compute-check.sh: expected --pack FOLDER, --fake, check or compare, got '${1:-}'" >&2
    exit 2
    ;;
esac
