import { howToInstall } from '@ringrun/native';
import type { NcclDescription } from '@ringrun/native';
import { ok, problem, warning } from '../finding.ts';
import type { Finding } from '../finding.ts';
import type { GpuScene } from '../gpu-scene.ts';
import { fixOfSearch, whyUnusable } from '../opened-library.ts';
import { formatBytes } from '../units.ts';

/** Bytes that NCCL needs for a few processes. Default in Docker: 64 MB. */
const enoughSharedMemory = 1e9;

/**
 * Reports the NCCL library that the nccl backend would use. If it is missing, that is a problem only if the job needs
 * it: training on the CPU does not.
 */
export function judgeNccl(
  { settings, needsGpu, sharedMemoryBytes }: Pick<GpuScene, 'settings' | 'needsGpu' | 'sharedMemoryBytes'>,
  { cuda, nccl, devices }: NcclDescription,
): Finding {
  const measured = { ...nccl, sharedMemoryBytes };
  if (nccl.problem !== '') {
    const fix = fixOfSearch(
      'RINGRUN_NCCL_LIBRARY',
      settings.RINGRUN_NCCL_LIBRARY,
      howToInstall(['nccl'], cuda.version),
    );
    return (needsGpu ? problem : warning)(
      `the nccl backend cannot be used: ${whyUnusable(nccl)}`,
      fix,
      measured,
    );
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
