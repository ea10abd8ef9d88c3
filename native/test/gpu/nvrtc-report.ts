import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

/** What NVRTC and ptxas say about a source for one compute capability. */
export interface Compilation {
  readonly source: string;
  /** Compute capability: 90. */
  readonly architecture: number;
  /** `ELF` for a cubin. */
  readonly format: string;
  readonly kernels: readonly CompiledKernel[];
  /** Lines with a warning. */
  readonly warnings: readonly string[];
}

export interface CompiledKernel {
  readonly name: string;
  /** Bytes of local memory: arrays, and registers that do not fit. */
  readonly stackBytes: number;
  readonly spillStores: number;
  readonly spillLoads: number;
}

interface Job {
  readonly source: string;
  readonly text: string;
  readonly architecture: number;
  /** Where its result is kept. */
  readonly file: string;
}

const folder = fileURLToPath(new URL('.', import.meta.url));
const cache = fileURLToPath(new URL('../../../node_modules/.cache/ringrun-nvrtc/', import.meta.url));

const options = ['--ptxas-options=-v'];

const script = `
  import { readFileSync, renameSync, writeFileSync } from 'node:fs';
  import { loadNative } from '../../dist/index.js';
  const { jobs, options } = JSON.parse(readFileSync(0, 'utf8'));
  const native = loadNative();
  for (const { source, text, architecture, file } of jobs) {
    const { cubin, log } = native.compileCubin(text, source, architecture, options);
    const format = String.fromCharCode(...cubin.subarray(1, 4));
    const temporary = file + '.' + process.pid;
    writeFileSync(temporary, JSON.stringify({ format, log }));
    renameSync(temporary, file);
  }`;

/**
 * Compiles sources, by name, with an NVRTC of NVIDIA, without a GPU, on all processors. Each result is kept in
 * node_modules/.cache/ringrun-nvrtc when it is known, so a later call compiles only what has changed.
 *
 * @throws Error with the log if a source does not compile
 */
export async function compileWith(
  nvrtc: string,
  sources: ReadonlyMap<string, string>,
  architectures: readonly number[],
): Promise<readonly Compilation[]> {
  mkdirSync(cache, { recursive: true });
  const { size, mtimeMs } = statSync(nvrtc);
  const jobs = [...sources].flatMap(([source, code]) =>
    architectures.map((architecture): Job => {
      const key = JSON.stringify([nvrtc, size, mtimeMs, options, architecture, code]);
      const file = join(cache, `${createHash('sha256').update(key).digest('hex')}.json`);
      return { source, text: code, architecture, file };
    }),
  );
  const unknown = jobs.filter(({ file }) => !existsSync(file));
  const processes = Math.min(availableParallelism(), unknown.length);
  await Promise.all(
    Array.from({ length: processes }, (_, index) =>
      compileInProcess(
        nvrtc,
        unknown.filter((_job, place) => place % processes === index),
      ),
    ),
  );
  return jobs.map(({ source, architecture, file }) => {
    const { format, log } = JSON.parse(readFileSync(file, 'utf8')) as { format: string; log: string };
    const warnings = log.split('\n').filter((line) => line.includes('warning'));
    return { source, architecture, format, kernels: kernelsOf(log), warnings };
  });
}

/** In a process of its own, because a process opens one NVRTC. */
async function compileInProcess(nvrtc: string, jobs: readonly Job[]): Promise<void> {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: folder,
    env: { ...process.env, RINGRUN_NVRTC_LIBRARY: nvrtc },
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  child.stdin.end(JSON.stringify({ jobs, options }));
  const [message, [status]] = await Promise.all([
    text(child.stderr),
    once(child, 'close') as Promise<[number | null]>,
  ]);
  if (status !== 0) throw new Error(message);
}

const resources =
  /entry function '(\w+)'[\s\S]*?(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads/g;

function kernelsOf(log: string): CompiledKernel[] {
  return [...log.matchAll(resources)].map(([, name, ...numbers]) => {
    const [stackBytes, spillStores, spillLoads] = numbers.map(Number);
    return { name, stackBytes, spillStores, spillLoads };
  });
}

/** A line for each kernel that uses local memory, and for each warning. */
export function problemsOf(compilations: readonly Compilation[]): string[] {
  return compilations.flatMap(({ source, architecture, kernels, warnings }) => {
    const where = `${source}, sm_${architecture}`;
    const spilling = kernels
      .filter(({ stackBytes, spillStores }) => stackBytes + spillStores > 0)
      .map((kernel) => `${where}: ${kernel.name} has ${kernel.stackBytes} bytes of local memory`);
    return [...spilling, ...warnings.map((warning) => `${where}: ${warning}`)];
  });
}
