import { readFileSync, readdirSync, statfsSync } from 'node:fs';
import type { NcclDescription } from '@ringrun/collectives';
import { runProbe } from './probe.ts';
import type { ProbeResult } from './probe.ts';

/** What of NVIDIA's is here. */
export interface GpuScene {
  /** Of the kernel's driver, from /proc/driver/nvidia/version; undefined where it is not loaded. */
  driver: string | undefined;
  /** Names of the GPUs in /proc/driver/nvidia/gpus. */
  models: readonly string[];
  /** GPUs in /dev, which this container may use: `nvidia0`. WSL has none of them. */
  deviceFiles: readonly string[];
  /** What the backend nccl finds: it, too, opens libcuda.so.1 and libnccl.so.2, and asks them. */
  found: ProbeResult<NcclDescription>;
  settings: GpuSettings;
  /** Bytes that /dev/shm can hold, through which NCCL passes data between processes of one host; undefined where there is none. */
  sharedMemoryBytes: number | undefined;
}

/** Environment variables that decide over what is found; undefined where they are not set. */
export interface GpuSettings {
  RINGRUN_CUDA_LIBRARY?: string | undefined;
  RINGRUN_NCCL_LIBRARY?: string | undefined;
  CUDA_VISIBLE_DEVICES?: string | undefined;
}

/** Opening is left to a process of its own: a driver that does not fit its kernel module may crash, or wait for ever. */
export async function readGpuScene(timeoutMs: number, settings: GpuSettings): Promise<GpuScene> {
  return {
    driver: parseDriverVersion(read('/proc/driver/nvidia/version')),
    models: list('/proc/driver/nvidia/gpus').flatMap((bus) =>
      parseModel(read(`/proc/driver/nvidia/gpus/${bus}/information`)),
    ),
    deviceFiles: list('/dev').filter((name) => /^nvidia\d+$/.test(name)),
    found: await runProbe<NcclDescription>('nccl', { timeoutMs }),
    settings,
    sharedMemoryBytes: sizeOf('/dev/shm'),
  };
}

/** Whether there is anything of a GPU, or somebody means it to be there: a library that a variable names. */
export function hasSomethingOfGpus({ driver, deviceFiles, found, settings }: GpuScene): boolean {
  if (driver !== undefined || deviceFiles.length > 0) return true;
  if (settings.RINGRUN_CUDA_LIBRARY || settings.RINGRUN_NCCL_LIBRARY) return true;
  if (found.kind === 'answer') return found.answer.cuda.path !== '';
  // Without the addon nobody was asked, and that has a finding of its own.
  return !found.stderr.includes('NativeUnavailableError');
}

/** `550.54.15` in `NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue …`, or in the words of the open driver. */
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

function list(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
