import type { NcclDescription } from '@ringrun/collectives';
import { ok, problem, warning } from '../finding.ts';
import type { Finding } from '../finding.ts';
import { hasSomethingOfGpus } from '../gpu-scene.ts';
import type { GpuScene } from '../gpu-scene.ts';
import { fixOfSearch, whyUnusable } from '../opened-library.ts';
import { firstErrorLine } from '../probe.ts';
import { formatBytes } from '../units.ts';

/** Whether there is anything of a GPU here, and whether the backend nccl can use it. */
export function judgeGpu(scene: GpuScene): Finding {
  const { driver, models, deviceFiles, found } = scene;
  const facts = { driver, models, deviceFiles };
  const measured =
    found.kind === 'answer' ? { ...facts, cuda: found.answer.cuda, devices: found.answer.devices } : facts;
  return { ...judge(scene), measured };
}

function judge(scene: GpuScene): Finding {
  const { found, deviceFiles } = scene;
  if (!hasSomethingOfGpus(scene)) return ok('none here: training runs on the CPU');
  if (found.kind === 'failure') return ofFailure(scene, found);
  if (found.answer.cuda.problem === '') return ok(ofUsable(scene, found.answer));
  return deviceFiles.length === 0 ? withoutGpu(scene, found.answer) : withoutDriver(scene, found.answer);
}

/** `2 GPUs (2 × NVIDIA H100 80GB HBM3 of 85 GB), driver 550.54.15 with CUDA 12.4, /usr/lib/libcuda.so.1` */
function ofUsable({ driver }: GpuScene, { cuda, devices }: NcclDescription): string {
  const versions = `driver ${driver ?? 'of unknown version'} with CUDA ${cuda.version}`;
  return `${countGpus(devices.length)} (${describeDevices(devices)}), ${versions}, ${cuda.path}`;
}

/** Nodes have many GPUs of one kind: each kind is named once. */
function describeDevices(devices: NcclDescription['devices']): string {
  const counts = new Map<string, number>();
  for (const { name, memoryBytes } of devices) {
    const kind = `${name} of ${formatBytes(memoryBytes)}`;
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return [...counts].map(([kind, count]) => (count === 1 ? kind : `${count} × ${kind}`)).join(', ');
}

/** Training on the CPU stays possible, whatever a driver does that has no GPU. */
function ofFailure({ deviceFiles }: GpuScene, { why, stderr }: { why: string; stderr: string }): Finding {
  const words = firstErrorLine(stderr);
  const judged = deviceFiles.length === 0 ? warning : problem;
  return judged(
    `a process that opens libcuda.so.1 and libnccl.so.2 does not get far: ${why}${words ? `: ${words}` : ''}`,
    'where the addon loads (above), one of these libraries is at fault: nvidia-smi tries the driver without ringrun; other files are named by RINGRUN_CUDA_LIBRARY and RINGRUN_NCCL_LIBRARY',
  );
}

/** A part of the driver without a GPU, or a library that a variable names in vain. */
function withoutGpu({ driver, settings }: GpuScene, { cuda }: NcclDescription): Finding {
  const what = driver === undefined ? cuda.path && 'the driver library' : `the driver ${driver}`;
  if (what === '') {
    return warning(
      `${whyUnusable(cuda)}, and there is no /dev/nvidia0: training runs on the CPU`,
      fixOfSearch('RINGRUN_CUDA_LIBRARY', settings.RINGRUN_CUDA_LIBRARY, whereDriversComeFrom),
    );
  }
  return warning(
    `${what} is here, but no GPU: there is no /dev/nvidia0, so training runs on the CPU (${whyUnusable(cuda)})`,
    'ask for one: resources.limits of the container with nvidia.com/gpu: 1, or docker run --gpus all',
  );
}

const whereDriversComeFrom =
  'libcuda.so.1 belongs to the driver, and the NVIDIA container runtime puts it in: NVIDIA_DRIVER_CAPABILITIES=compute,utility, and runtimeClassName: nvidia where the cluster needs it';

/** GPUs that the kernel has, and no library that can use them. */
function withoutDriver(scene: GpuScene, { cuda }: NcclDescription): Finding {
  const { models, deviceFiles, settings } = scene;
  const what = `${countGpus(deviceFiles.length)} (${(models.length > 0 ? models : deviceFiles).join(', ')})`;
  if (cuda.path === '') {
    return problem(
      `${what}, but ${whyUnusable(cuda)}`,
      fixOfSearch('RINGRUN_CUDA_LIBRARY', settings.RINGRUN_CUDA_LIBRARY, whereDriversComeFrom),
    );
  }
  const visible = settings.CUDA_VISIBLE_DEVICES;
  const unusable = `${what}, but they cannot be used: ${whyUnusable(cuda)}`;
  // Somebody may have hidden them on purpose.
  if (visible !== undefined)
    return warning(unusable, `unset CUDA_VISIBLE_DEVICES, which is '${visible}', or name GPUs there`);
  return problem(
    unusable,
    'nvidia-smi tries the driver without ringrun: library and kernel module must be of one version, which RINGRUN_CUDA_LIBRARY can name',
  );
}

function countGpus(count: number): string {
  return `${count} ${count === 1 ? 'GPU' : 'GPUs'}`;
}
