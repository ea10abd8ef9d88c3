import type { NcclDescription } from '@ringrun/collectives';
import { ok, warning } from '../finding.ts';
import type { Finding } from '../finding.ts';
import type { GpuScene } from '../gpu-scene.ts';
import { fixOfSearch, whyUnusable } from '../opened-library.ts';
import { formatBytes } from '../units.ts';

/** NCCL's own requirement for a few processes; containers have 64 MB unless told otherwise. */
const enoughSharedMemory = 1e9;

/** Where there is something of a GPU: which NCCL the backend nccl would use. Training with gloo needs none, so a lack is no problem. */
export function judgeNccl(
  { settings, sharedMemoryBytes }: Pick<GpuScene, 'settings' | 'sharedMemoryBytes'>,
  { nccl, devices }: NcclDescription,
): Finding {
  const measured = { ...nccl, sharedMemoryBytes };
  if (nccl.problem !== '') {
    const fix = fixOfSearch('RINGRUN_NCCL_LIBRARY', settings.RINGRUN_NCCL_LIBRARY, whereNcclComesFrom);
    return warning(`the backend nccl cannot be used: ${whyUnusable(nccl)}`, fix, measured);
  }
  const what = `NCCL ${nccl.version}, ${nccl.path}`;
  if (devices.length > 1 && sharedMemoryBytes !== undefined && sharedMemoryBytes < enoughSharedMemory) {
    return warning(
      `${what}, but /dev/shm holds only ${formatBytes(sharedMemoryBytes)}, through which NCCL passes data between the GPUs of a host`,
      'mount memory there: a volume emptyDir: { medium: Memory } at /dev/shm, or docker run --shm-size=2g',
      measured,
    );
  }
  return ok(what, measured);
}

const whereNcclComesFrom =
  'apt-get install libnccl2 from the CUDA repository, or pip install nvidia-nccl-cu12, or take the image of deploy/Dockerfile.gpu';
