import { statfsSync } from 'node:fs';
import { namesIn, readText } from '../../host/host-files.ts';
import type { DoctorOptions } from './options.ts';
import { runProbe } from './probe.ts';
import type { ProbeResult } from './probe.ts';
import type { GpusAnswer } from './probes/gpus.ts';

/** NVIDIA devices, driver and libraries of this machine. */
export interface GpuScene {
  /** Version of the kernel driver, from /proc/driver/nvidia/version. Undefined if it is not loaded. */
  driver: string | undefined;
  /** Names of the GPUs in /proc/driver/nvidia/gpus. */
  models: readonly string[];
  /** GPUs in /dev that this container may use, such as `nvidia0`. WSL has no such files. */
  deviceFiles: readonly string[];
  /** Versions and GPUs that NVIDIA's libraries report, opened as training opens them. */
  found: ProbeResult<GpusAnswer>;
  settings: GpuSettings;
  /** --backend nccl: without a GPU or a library the job fails or computes on CPUs. */
  needsGpu: boolean;
  /** Capacity of /dev/shm in bytes: NCCL uses it between processes of one host. Undefined if it does not exist. */
  sharedMemoryBytes: number | undefined;
}

/** Environment variables that change which libraries and GPUs are found. Undefined: not set. */
export interface GpuSettings {
  RINGRUN_CUDA_LIBRARY?: string | undefined;
  RINGRUN_NVRTC_LIBRARY?: string | undefined;
  RINGRUN_CUBLASLT_LIBRARY?: string | undefined;
  RINGRUN_CUDNN_LIBRARY?: string | undefined;
  RINGRUN_NCCL_LIBRARY?: string | undefined;
  CUDA_VISIBLE_DEVICES?: string | undefined;
}

/** A separate process opens the libraries: a driver that does not match its kernel module may crash or hang. */
export async function readGpuScene(
  { timeoutMs, backend }: Pick<DoctorOptions, 'timeoutMs' | 'backend'>,
  settings: GpuSettings,
): Promise<GpuScene> {
  return {
    driver: parseDriverVersion(readText('/proc/driver/nvidia/version')),
    models: namesIn('/proc/driver/nvidia/gpus').flatMap((bus) =>
      parseModel(readText(`/proc/driver/nvidia/gpus/${bus}/information`)),
    ),
    deviceFiles: namesIn('/dev').filter((name) => /^nvidia\d+$/.test(name)),
    found: await runProbe<GpusAnswer>('gpus', { timeoutMs }),
    settings,
    needsGpu: backend === 'nccl',
    sharedMemoryBytes: sizeOf('/dev/shm'),
  };
}

/** True if a driver, a device or the CUDA library was found, or if a variable names a library. */
export function hasSomethingOfGpus({ driver, deviceFiles, found, settings }: GpuScene): boolean {
  if (driver !== undefined || deviceFiles.length > 0) return true;
  if (
    Object.entries(settings).some(
      ([name, file]) => /^RINGRUN_(CUDA|NCCL|NVRTC|CUBLASLT|CUDNN)_LIBRARY$/.test(name) && file,
    )
  )
    return true;
  if (found.kind === 'answer') return found.answer.cuda.path !== '';
  // Without the addon no library was opened; the check `addon` reports that.
  return !found.stderr.includes('NativeUnavailableError');
}

/** `550.54.15` in `NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue …`, or in the open driver's line. */
export function parseDriverVersion(text: string): string | undefined {
  return /^NVRM version:.*?(\d+\.\d+(?:\.\d+)?)/m.exec(text)?.[1];
}

/** `NVIDIA H100 80GB HBM3` in the line `Model: …`. */
export function parseModel(information: string): string[] {
  const model = /^Model:\s*(.+)$/m.exec(information)?.[1];
  return model === undefined ? [] : [model.trim()];
}

function sizeOf(path: string): number | undefined {
  try {
    const { blocks, bsize } = statfsSync(path);
    return blocks * bsize;
  } catch {
    return undefined;
  }
}
