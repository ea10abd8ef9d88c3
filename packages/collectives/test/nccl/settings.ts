import { requestedExtent } from '../conformance/extent.ts';
import type { Setting } from '../conformance/settings.ts';
import { fakeGpuLibraries } from '../../../../native/test/fake-gpu/libraries.ts';

/**
 * Environment for ranks with backend nccl. If RINGRUN_GPU_CHECK is set (scripts/gpu-check.sh), they use NVIDIA's
 * libraries and share one GPU, which NCCL allows for ranks with different NCCL_HOSTIDs; for tests only. Otherwise they
 * use the fake libraries, with a GPU for each rank.
 */
export function envOverNccl(rank: number): NodeJS.ProcessEnv {
  const isReal = process.env['RINGRUN_GPU_CHECK'] === '1';
  const shared = {
    NCCL_HOSTID: `rank ${rank}`,
    NCCL_P2P_DISABLE: '1',
    NCCL_SHM_DISABLE: '1',
    CUDA_VISIBLE_DEVICES: '0',
  };
  return {
    TEST_BACKEND: 'nccl',
    LOCAL_RANK: String(rank),
    ...(isReal ? shared : fakeGpuLibraries()),
  };
}

const isShort = requestedExtent() !== 'full' && process.env['RINGRUN_GPU_CHECK'] !== '1';
const sizes = isShort ? [2, 3, 4] : [1, 2, 3, 4];

/** Host of each rank, by number of ranks, so that their CPU connections use shared memory, both, and TCP. */
const hostsOf: Record<number, number[]> = { 1: [0], 2: [0, 0], 3: [0, 1, 0], 4: [0, 1, 2, 3] };

export const settingsOverNccl = sizes.map((size): Setting => ({
  transport: 'nccl',
  size,
  envOf: (rank) => ({ ...envOverNccl(rank), RINGRUN_HOST_ID: `host ${hostsOf[size][rank]}` }),
}));

/** Settings for long tests: none in the short form, because the fake libraries are slow. */
export const settingsOverNcclInFull = isShort ? [] : settingsOverNccl;
