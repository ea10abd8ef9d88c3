import { requestedExtent } from '../conformance/extent.ts';
import type { Setting } from '../conformance/settings.ts';
import { standIn } from './stand-in.ts';

/**
 * What ranks are told to run over nccl. Over NVIDIA's libraries where RINGRUN_GPU_CHECK is set (scripts/gpu-check.sh): there ranks share one GPU, which NCCL allows to ranks that
 * say that they are on different hosts; a test arrangement only. Otherwise over the stand-ins, with a GPU for each rank.
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
    ...(isReal ? shared : standIn()),
  };
}

const isShort = requestedExtent() !== 'full' && process.env['RINGRUN_GPU_CHECK'] !== '1';
const sizes = isShort ? [2, 3, 4] : [1, 2, 3, 4];

/** By number of ranks, the host that each says it is on: what they agree over, and watch each other by, is shared memory, both, and TCP. */
const hostsOf: Record<number, number[]> = { 1: [0], 2: [0, 0], 3: [0, 1, 0], 4: [0, 1, 2, 3] };

export const settingsOverNccl = sizes.map((size): Setting => ({
  transport: 'nccl',
  size,
  envOf: (rank) => ({ ...envOverNccl(rank), RINGRUN_HOST_ID: `host ${hostsOf[size][rank]}` }),
}));

/** Of what takes long there, because the stand-ins take their time: nothing in the short form. */
export const settingsOverNcclInFull = isShort ? [] : settingsOverNccl;
