// Downloads NVIDIA's libraries and headers from PyPI, for tests that need no GPU (native/test/gpu/nvidia.test.ts):
//
//   node scripts/fetch-nvidia.js           NVRTC of CUDA 12 and 13, and the headers of the driver: 150 MB
//   node scripts/fetch-nvidia.js --all     also cuBLAS and cuDNN: 1 GB more
//
// Needs pip. They are kept in ~/.cache/ringrun/nvidia, or the folder in RINGRUN_NVIDIA_WHEELS.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { userCache } from '../native/user-cache.js';

/** Folder by CUDA's major version, and the file that a wheel brings there. */
const wheels = [
  { major: '13', name: 'nvidia-cuda-nvrtc', file: 'nvidia/cu13/lib/libnvrtc.so.13' },
  { major: '13', name: 'nvidia-cuda-runtime', file: 'nvidia/cu13/include/cuda.h' },
  { major: '12', name: 'nvidia-cuda-nvrtc-cu12', file: 'nvidia/cuda_nvrtc/lib/libnvrtc.so.12' },
];
const largeWheels = [
  { major: '13', name: 'nvidia-cublas', file: 'nvidia/cu13/lib/libcublasLt.so.13' },
  { major: '13', name: 'nvidia-cudnn-cu13', file: 'nvidia/cudnn/lib/libcudnn.so.9' },
];

const folder = process.env.RINGRUN_NVIDIA_WHEELS ?? join(userCache(process.env), 'ringrun/nvidia');

function run(command, args) {
  const { status, error } = spawnSync(command, args, { stdio: 'inherit' });
  if (status !== 0)
    throw new Error(error?.message ?? `exit code ${status} from: ${command} ${args.join(' ')}`);
}

function fetchWheel({ major, name, file }) {
  const target = join(folder, major);
  if (existsSync(join(target, file))) return;
  const download = join(folder, `download-${process.pid}`);
  mkdirSync(download, { recursive: true });
  try {
    run('python3', ['-m', 'pip', 'download', '--quiet', '--no-deps', '--dest', download, name]);
    for (const wheel of readdirSync(download))
      run('python3', ['-m', 'zipfile', '-e', join(download, wheel), target]);
  } finally {
    rmSync(download, { recursive: true, force: true });
  }
}

for (const wheel of [...wheels, ...(process.argv.includes('--all') ? largeWheels : [])]) fetchWheel(wheel);
console.error(`NVIDIA's libraries are in ${folder}`);
