#!/bin/sh
# Tests and measures the backend nccl on real GPUs, without a network (gpu-compute-check.sh is about models):
#
#   scripts/gpu-check.sh                  needs Node >= 20, the NVIDIA driver, NVRTC, cuBLAS, cuDNN, NCCL, and a folder built by `npm test`
#   scripts/gpu-check.sh --pack FILE      creates an archive of this folder, with the file in RINGRUN_NCCL_LIBRARY if set
#   scripts/gpu-check.sh --fake           runs the same steps with the fake NCCL of the tests, to test this script
#
# One GPU is enough: 2, 3 and 4 ranks share it by declaring different hosts (NCCL_HOSTID), and connect over sockets.
# This is for tests only: NCCL and ringrun both reject ranks of one host that share a GPU.
set -eu
cd "$(dirname "$0")/.."

pack() {
  [ -n "${RINGRUN_NCCL_LIBRARY:-}" ] && cp -L "$RINGRUN_NCCL_LIBRARY" native/build/libnccl.so.2
  node scripts/setup.js
  tar --create --gzip --file "$1" --exclude=.git --exclude='native/build/objects-*' --exclude="$(basename "$1")" .
  echo "packed into $1: unpack it on a machine with a GPU and run scripts/gpu-check.sh there"
}

step() {
  echo
  echo "== $1"
}

tests() {
  node node_modules/vitest/vitest.mjs run --testTimeout=600000 "$@"
}

case "${1:-}" in
  --pack)
    pack "${2:?gpu-check.sh --pack FILE: name the archive}"
    exit 0
    ;;
  --fake)
    most=4
    eval "$(node --import tsx --input-type=module --eval "
      import { fakeComputeLibraries } from './native/test/fake-gpu/libraries.ts';
      for (const [name, path] of Object.entries(fakeComputeLibraries())) console.log('export ' + name + '=' + JSON.stringify(path));
    ")"
    ;;
  '')
    most=256
    if [ -z "${RINGRUN_NCCL_LIBRARY:-}" ] && [ -f native/build/libnccl.so.2 ]; then
      export RINGRUN_NCCL_LIBRARY="$PWD/native/build/libnccl.so.2"
    fi
    ;;
  *)
    echo "gpu-check.sh: expected no argument, --pack FILE or --fake, got '$1'" >&2
    exit 2
    ;;
esac
export RINGRUN_GPU_CHECK=1 RINGRUN_SHARE_GPU=1

step 'driver, libraries and GPUs'
node launch doctor --backend nccl

step 'host arrays: every collective, dtype, op and length, on 1 to 4 ranks'
tests packages/collectives/test/conformance/conformance.test.ts -t nccl

step 'GPU tensors: the same'
tests packages/collectives/test/nccl/on-device.test.ts

step 'ranks that die, disagree, leave early, or have many operations in flight'
tests packages/collectives/test/contracts -t nccl

step "ringrun's groups, and MNIST with DDP on 1 rank and on 2 that share the GPU"
tests test/nccl.test.ts

for ranks in 1 2 4; do
  step "bandwidth: $ranks ranks"
  node launch --nproc "$ranks" bench/nccl/bandwidth.js "$most"
done

step 'all steps passed'
