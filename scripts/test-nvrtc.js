// Compiles the kernels of @ringrun/nn with NVIDIA's NVRTC of CUDA 12 and 13 for several architectures, without a GPU. Fails if a kernel
// uses local memory or has a warning, and if the addon declares something else than NVIDIA's headers:
//
//   node scripts/test-nvrtc.js
//
// 1. Downloads NVRTC and the headers, if they are missing (scripts/fetch-nvidia.js, 150 MB).
// 2. Runs tests on the fake GPU, whose NVRTC keeps the sources that it compiles: kernels that programs generate.
// 3. Compiles these, the hand-written ones, and those of the examples' models. Results are kept in node_modules/.cache/ringrun-nvrtc,
//    so only what has changed is compiled again.
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const sources = join(root, 'node_modules/.cache/ringrun-nvrtc-sources');

/** Tests whose programs run on the fake GPU. */
const generating = ['packages/nn/test/executor/cuda', 'test/gpu-training.test.ts', 'test/gpu-ddp.test.ts'];

const compiling = [
  'native/test/gpu/nvidia.test.ts',
  'packages/nn/test/executor/cuda/nvidia.test.ts',
  'test/nvidia-models.test.ts',
];

function run(args, env = {}) {
  const { status, signal } = spawnSync(process.execPath, args, {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: 'inherit',
  });
  if (status !== 0) {
    console.error(`ringrun: test-nvrtc.js: ${signal ?? `exit code ${status}`} from: node ${args.join(' ')}`);
    process.exit(1);
  }
}

const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--project', 'alone', '--project', 'shared'];

run(['scripts/fetch-nvidia.js']);
rmSync(sources, { recursive: true, force: true });
mkdirSync(sources, { recursive: true });
run([...vitest, ...generating], { RINGRUN_FAKE_NVRTC_SOURCES: sources });
run([...vitest, ...compiling], { RINGRUN_NVRTC: 'full', RINGRUN_NVRTC_SOURCES: sources });
