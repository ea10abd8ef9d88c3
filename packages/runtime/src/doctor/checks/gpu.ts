import { ok, problem, warning } from '../finding.ts';
import type { Finding } from '../finding.ts';
import type { GpuScene } from '../gpu-scene.ts';

/** Whether there is anything of a GPU here, and whether it can be used. */
export function judgeGpu(scene: GpuScene): Finding {
  const { driver, devices, models, cuda } = scene;
  const measured = { driver, devices, models };
  const opened = cuda.problem === '';
  if (driver === undefined && devices.length === 0 && !opened)
    return ok('none here: training runs on the CPU', measured);
  if (devices.length === 0) {
    return warning(
      `the driver ${driver ?? 'library'} is here, but no GPU: there is no /dev/nvidia0, so training runs on the CPU`,
      'ask for one: resources.limits of the container with nvidia.com/gpu: 1, or docker run --gpus all',
      measured,
    );
  }
  const what = `${devices.length} ${devices.length === 1 ? 'GPU' : 'GPUs'} (${models.join(', ') || devices.join(', ')})`;
  if (!opened) {
    return problem(
      `${what}, but libcuda.so.1 cannot be opened: ${cuda.problem}${searched(cuda.folders)}`,
      'it belongs to the driver, and the NVIDIA container runtime puts it in: NVIDIA_DRIVER_CAPABILITIES=compute,utility, and runtimeClassName: nvidia where the cluster needs it',
      measured,
    );
  }
  return ok(`${what}, driver ${driver ?? 'of unknown version'}, ${cuda.path ?? 'libcuda.so.1'}`, measured);
}

/** Where NVIDIA's libraries were looked for. */
export function searched(folders: readonly string[]): string {
  return folders.length === 0 ? '' : ` (looked for in ${folders.join(', ')})`;
}
