import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { userCache } from '@ringrun/native';

/** Where scripts/fetch-nvidia.js unpacks pip's wheels. */
const folder = process.env['RINGRUN_NVIDIA_WHEELS'] ?? join(userCache(process.env), 'ringrun/nvidia');

const pathIfPresent = (path: string): string | undefined => (existsSync(path) ? path : undefined);

/** NVIDIA's files that were downloaded; undefined for others. */
export const nvidia = {
  nvrtc: {
    12: pathIfPresent(join(folder, '12/nvidia/cuda_nvrtc/lib/libnvrtc.so.12')),
    13: pathIfPresent(join(folder, '13/nvidia/cu13/lib/libnvrtc.so.13')),
  },
  cublasLt: pathIfPresent(join(folder, '13/nvidia/cu13/lib/libcublasLt.so.13')),
  cudnn: pathIfPresent(join(folder, '13/nvidia/cudnn/lib/libcudnn.so.9')),
  headers: {
    cuda: pathIfPresent(join(folder, '13/nvidia/cu13/include/cuda.h')),
    nvrtc: pathIfPresent(join(folder, '13/nvidia/cu13/include/nvrtc.h')),
    cublasLt: pathIfPresent(join(folder, '13/nvidia/cu13/include/cublasLt.h')),
    cudnn: pathIfPresent(join(folder, '13/nvidia/cudnn/include/cudnn.h')),
  },
};

/** Compute capabilities of the A100, H100 and B200. */
export const architectures = [80, 90, 100] as const;

export const howToFetch = 'run node scripts/fetch-nvidia.js --all';
