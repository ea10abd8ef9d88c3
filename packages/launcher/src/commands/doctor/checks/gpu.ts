import type { NcclDescription } from '@ringrun/native';
import { ok, problem, warning } from '../finding.ts';
import type { Finding } from '../finding.ts';
import { hasSomethingOfGpus } from '../gpu-scene.ts';
import type { GpuScene } from '../gpu-scene.ts';
import { fixOfSearch, whyUnusable } from '../opened-library.ts';
import { firstErrorLine } from '../probe.ts';
import type { GpusAnswer } from '../probes/gpus.ts';
import { formatBytes } from '../units.ts';

/** Checks for GPUs, and that the nccl backend can use them. */
export function judgeGpu(scene: GpuScene): Finding {
  const { driver, models, deviceFiles, found } = scene;
  const facts = { driver, models, deviceFiles };
  const measured =
    found.kind === 'answer' ? { ...facts, cuda: found.answer.cuda, devices: found.answer.devices } : facts;
  return { ...judge(scene), measured };
}

function judge(scene: GpuScene): Finding {
  const { needsGpu } = scene;
  if (!needsGpu && !hasSomethingOfGpus(scene)) return ok('no GPU found: training runs on the CPU');
  const finding = judgeFound(scene);
  // The backend nccl cannot do without.
  return needsGpu && finding.level === 'warning' ? { ...finding, level: 'problem' } : finding;
}

function judgeFound(scene: GpuScene): Finding {
  const { found, deviceFiles } = scene;
  if (found.kind === 'failure') return ofFailure(scene, found);
  if (found.answer.cuda.problem === '') return ofUsable(scene, found.answer);
  return deviceFiles.length === 0 ? withoutGpu(scene, found.answer) : withoutDriver(scene, found.answer);
}

/** `2 GPUs (2 × NVIDIA H100 80GB HBM3 of 85 GB), driver 550.54.15 with CUDA 12.4, /usr/lib/libcuda.so.1` */
function ofUsable({ driver }: GpuScene, { cuda, devices, compute }: GpusAnswer): Finding {
  const versions = `driver ${driver ?? 'of unknown version'} with CUDA ${cuda.version}`;
  const found = `${countGpus(devices.length)} (${describeDevices(devices)}), ${versions}, ${cuda.path}`;
  if (compute.cuda.problem === '') return ok(found);
  return warning(
    `${found}. Collectives run on GPUs, but models cannot compute there: ${compute.cuda.problem}`,
    'install driver 525 or later on the host; an image cannot replace the driver',
  );
}

/** Names each model once, because nodes usually have several GPUs of one model. */
function describeDevices(devices: NcclDescription['devices']): string {
  const counts = new Map<string, number>();
  for (const { name, memoryBytes } of devices) {
    const kind = `${name} of ${formatBytes(memoryBytes)}`;
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return [...counts].map(([kind, count]) => (count === 1 ? kind : `${count} × ${kind}`)).join(', ');
}

/** Only a warning without GPUs: a driver that fails does not stop training on the CPU. */
function ofFailure({ deviceFiles }: GpuScene, { why, stderr }: { why: string; stderr: string }): Finding {
  const words = firstErrorLine(stderr);
  const judged = deviceFiles.length === 0 ? warning : problem;
  return judged(
    `a process that opened libcuda.so.1 and NVIDIA's other libraries failed: ${why}${words ? `: ${words}` : ''}`,
    'if the check "addon" passed, one of these libraries is broken: run nvidia-smi to test the driver without ringrun, or set RINGRUN_CUDA_LIBRARY and the variables of the other libraries to other files',
  );
}

/** A part of the driver without a GPU, or a variable that names a library that cannot be used. */
function withoutGpu({ driver, settings }: GpuScene, { cuda }: NcclDescription): Finding {
  const what = driver === undefined ? cuda.path && 'the driver library' : `the driver ${driver}`;
  if (what === '') {
    return warning(
      `${whyUnusable(cuda)}, and /dev/nvidia0 does not exist: training runs on the CPU`,
      fixOfSearch('RINGRUN_CUDA_LIBRARY', settings.RINGRUN_CUDA_LIBRARY, whereDriversComeFrom),
    );
  }
  return warning(
    `${what} is installed, but there is no GPU: /dev/nvidia0 does not exist, so training runs on the CPU (${whyUnusable(cuda)})`,
    'request a GPU: nvidia.com/gpu: 1 in resources.limits of the container, or docker run --gpus all',
  );
}

const whereDriversComeFrom =
  'libcuda.so.1 is part of the driver, and the NVIDIA container runtime mounts it: set NVIDIA_DRIVER_CAPABILITIES=compute,utility, and runtimeClassName: nvidia if the cluster needs it';

/** The kernel has GPUs, but no library can use them. */
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
  // The user may have hidden them on purpose.
  if (visible !== undefined)
    return warning(unusable, `unset CUDA_VISIBLE_DEVICES, which is '${visible}', or set it to existing GPUs`);
  return problem(
    unusable,
    'run nvidia-smi to test the driver without ringrun: the library and the kernel module must have the same version (RINGRUN_CUDA_LIBRARY selects another library)',
  );
}

function countGpus(count: number): string {
  return `${count} ${count === 1 ? 'GPU' : 'GPUs'}`;
}
