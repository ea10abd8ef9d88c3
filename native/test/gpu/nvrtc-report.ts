import { spawnSync } from 'node:child_process';
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

const folder = fileURLToPath(new URL('.', import.meta.url));

const script = `
  import { readFileSync } from 'node:fs';
  import { loadNative } from '../../dist/index.js';
  const { sources, architectures } = JSON.parse(readFileSync(0, 'utf8'));
  const native = loadNative();
  const found = [];
  for (const [source, text] of sources) {
    for (const architecture of architectures) {
      const { cubin, log } = native.compileCubin(text, source, architecture, ['--ptxas-options=-v']);
      found.push({ source, architecture, format: String.fromCharCode(...cubin.subarray(1, 4)), log });
    }
  }
  console.log(JSON.stringify(found));`;

/**
 * Compiles sources, by name, with an NVRTC of NVIDIA, without a GPU. In a process of its own, because a process opens one NVRTC.
 *
 * @throws Error with the log if a source does not compile
 */
export function compileWith(
  nvrtc: string,
  sources: ReadonlyMap<string, string>,
  architectures: readonly number[],
): readonly Compilation[] {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
    encoding: 'utf8',
    cwd: folder,
    env: { ...process.env, RINGRUN_NVRTC_LIBRARY: nvrtc },
    input: JSON.stringify({ sources: [...sources], architectures }),
    maxBuffer: 2 ** 28,
  });
  if (status !== 0) throw new Error(stderr);
  const found = JSON.parse(stdout) as readonly (Omit<Compilation, 'kernels' | 'warnings'> & {
    readonly log: string;
  })[];
  return found.map(({ log, ...compilation }) => ({
    ...compilation,
    kernels: kernelsOf(log),
    warnings: log.split('\n').filter((line) => line.includes('warning')),
  }));
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
