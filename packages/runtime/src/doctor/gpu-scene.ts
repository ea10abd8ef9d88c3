import { readFileSync, readdirSync, statfsSync } from 'node:fs';
import { runProbe } from './probe.ts';
import type { LibrariesAnswer } from './probes/libraries.ts';

/** What of NVIDIA's is here. */
export interface GpuScene {
  /** Of the kernel's driver, from /proc/driver/nvidia/version; undefined where it is not loaded. */
  driver: string | undefined;
  /** Names of the GPUs in /proc/driver/nvidia/gpus. */
  models: readonly string[];
  /** GPUs in /dev, which this container may use. */
  devices: readonly string[];
  cuda: Library;
  nccl: Library;
  /** Bytes that /dev/shm can hold, through which NCCL passes data between processes of one host; undefined where there is none. */
  sharedMemoryBytes: number | undefined;
}

/** A library as the loader finds it. */
export interface Library {
  /** Empty when it can be opened, otherwise the loader's words. */
  problem: string;
  /** Where the loader found it; undefined where it does not say (other libcs than glibc). */
  path: string | undefined;
  /** Folders in which it was looked for. */
  folders: readonly string[];
}

const names = { cuda: 'libcuda.so.1', nccl: 'libnccl.so.2' } as const;

export async function readGpuScene(timeoutMs: number): Promise<GpuScene> {
  const result = await runProbe<LibrariesAnswer>('libraries', {
    timeoutMs,
    arguments: Object.values(names),
    env: { LD_DEBUG: 'libs' },
  });
  const library = (name: string): Library => {
    const problem =
      result.kind === 'answer' ? result.answer[name] : `a process that opens it fails: ${result.why}`;
    return { problem, ...parseSearch(result.stderr, name) };
  };
  return {
    driver: parseDriverVersion(read('/proc/driver/nvidia/version')),
    models: list('/proc/driver/nvidia/gpus').flatMap((bus) =>
      parseModel(read(`/proc/driver/nvidia/gpus/${bus}/information`)),
    ),
    devices: list('/dev').filter((name) => /^nvidia\d+$/.test(name)),
    cuda: library(names.cuda),
    nccl: library(names.nccl),
    sharedMemoryBytes: sizeOf('/dev/shm'),
  };
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

/** What ld.so says with LD_DEBUG=libs: `trying file=…` for each place, and `calling init: …` for what it has opened. */
export function parseSearch(stderr: string, name: string): Pick<Library, 'path' | 'folders'> {
  const tried = [...stderr.matchAll(/trying file=(\S+)/g)]
    .map(([, file]) => file)
    .filter((file) => file.endsWith(`/${name}`));
  const path = [...stderr.matchAll(/calling init: (\S+)/g)]
    .map(([, file]) => file)
    .find((file) => file.endsWith(`/${name}`));
  const folders = tried.map((file) => file.slice(0, -name.length - 1)).filter(isPlain);
  return { path, folders: [...new Set(folders)] };
}

/** Variants for single processors are looked for below each folder, and say nothing to a person. */
function isPlain(folder: string): boolean {
  return !/\/(glibc-hwcaps|tls|haswell|avx512_1|x86_64)(\/|$)/.test(folder);
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
