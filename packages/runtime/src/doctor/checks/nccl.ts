import { ok, warning } from '../finding.ts';
import type { Finding } from '../finding.ts';
import type { GpuScene } from '../gpu-scene.ts';
import { formatBytes } from '../units.ts';
import { searched } from './gpu.ts';

/** NCCL's own requirement for a few processes; containers have 64 MB unless told otherwise. */
const enoughSharedMemory = 1e9;

/** @param scene One with a GPU. */
export function judgeNccl({ nccl, sharedMemoryBytes, devices }: GpuScene): Finding {
  if (nccl.problem !== '') {
    return warning(
      `libnccl.so.2 cannot be opened: ${nccl.problem}${searched(nccl.folders)}`,
      'apt-get install libnccl2 from the CUDA repository, or take the image of deploy/Dockerfile.gpu; a folder of its own belongs in LD_LIBRARY_PATH',
    );
  }
  const place = nccl.path ?? 'libnccl.so.2';
  if (devices.length > 1 && sharedMemoryBytes !== undefined && sharedMemoryBytes < enoughSharedMemory) {
    return warning(
      `${place}, but /dev/shm holds only ${formatBytes(sharedMemoryBytes)}, through which NCCL passes data between the GPUs of a host`,
      'mount memory there: a volume emptyDir: { medium: Memory } at /dev/shm, or docker run --shm-size=2g',
      { sharedMemoryBytes },
    );
  }
  return ok(place, { sharedMemoryBytes });
}
