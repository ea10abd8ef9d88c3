import type { NcclDescription } from '@ringrun/collectives';
import { ok, warning } from '../finding.ts';
import type { Finding } from '../finding.ts';
import type { GpuScene } from '../gpu-scene.ts';
import { fixOfSearch, whyUnusable } from '../opened-library.ts';
import { formatBytes } from '../units.ts';

/** Bytes that NCCL needs for a few processes. Default in Docker: 64 MB. */
const enoughSharedMemory = 1e9;

/**
 * Reports the NCCL library that the nccl backend would use. Only a warning if it is missing: training on the CPU does
 * not need it.
 */
export function judgeNccl(
  { settings, sharedMemoryBytes }: Pick<GpuScene, 'settings' | 'sharedMemoryBytes'>,
  { nccl, devices }: NcclDescription,
): Finding {
  const measured = { ...nccl, sharedMemoryBytes };
  if (nccl.problem !== '') {
    const fix = fixOfSearch('RINGRUN_NCCL_LIBRARY', settings.RINGRUN_NCCL_LIBRARY, whereNcclComesFrom);
    return warning(`the nccl backend cannot be used: ${whyUnusable(nccl)}`, fix, measured);
  }
  const what = `NCCL ${nccl.version}, ${nccl.path}`;
  if (devices.length > 1 && sharedMemoryBytes !== undefined && sharedMemoryBytes < enoughSharedMemory) {
    return warning(
      `${what}, but /dev/shm, which NCCL uses between the GPUs of a host, has only ${formatBytes(sharedMemoryBytes)}`,
      'enlarge it: mount a volume emptyDir: { medium: Memory } at /dev/shm, or docker run --shm-size=2g',
      measured,
    );
  }
  return ok(what, measured);
}

const whereNcclComesFrom =
  'apt-get install libnccl2 from the CUDA repository, or pip install nvidia-nccl-cu12, or use the image of deploy/Dockerfile.gpu';
