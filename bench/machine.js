// The machine that a benchmark runs on, for its first lines: figures hold for one processor.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, release, type } from 'node:os';
import { root } from './support.js';

/** Names of instruction sets by their flags in /proc/cpuinfo; those of arm64 are in the second group. */
const instructionSets = [
  ['AVX2', 'avx2'],
  ['AVX-512', 'avx512f'],
  ['AVX512_BF16', 'avx512_bf16'],
  ['AMX', 'amx_tile'],
  ['AMX_BF16', 'amx_bf16'],
  ['NEON', 'asimd'],
  ['BF16', 'bf16'],
  ['SVE', 'sve'],
];
const ofX86 = ['AVX2', 'AVX-512', 'AVX512_BF16', 'AMX_BF16'];

/**
 * The processor that a text of /proc/cpuinfo describes. Pure.
 *
 * @returns its name with family and model, and the instruction sets that matter for products
 */
export function processorOf(cpuinfo) {
  const valueOf = (key) => new RegExp(`^${key}\\s*: (.*)$`, 'm').exec(cpuinfo)?.[1];
  const flags = new Set((valueOf('flags') ?? valueOf('Features') ?? '').split(' '));
  const sets = instructionSets.filter(([, flag]) => flags.has(flag)).map(([name]) => name);
  const model = valueOf('model');
  const numbers = model === undefined ? '' : ` (family ${valueOf('cpu family')}, model ${model})`;
  const missing = flags.has('sse2') ? ofX86.filter((name) => !sets.includes(name)) : [];
  return { name: `${valueOf('model name') ?? cpus()[0].model}${numbers}`, sets, missing };
}

/**
 * Prints the processor and its instruction sets, the load, and the versions.
 *
 * @param torches what torchOf returned for each Python
 */
export function printMachine(torches = []) {
  const { name, sets, missing } = processorOf(readCpuinfo());
  const without = missing.length === 0 ? '' : `; without ${missing.join(', ')}`;
  console.log(
    `${name}, ${availableParallelism()} processors; ${sets.join(', ') || 'no known sets'}${without}`,
  );
  const versions = [
    `load ${loadavg()[0].toFixed(1)}`,
    `${type()} ${release()}`,
    `Node.js ${process.versions.node}`,
    `ringrun ${commitOf(root)}`,
    ...torches.map((torch) => `PyTorch ${torch.version} (${torch.capability})`),
  ];
  console.log(versions.join(', '));
}

/** The commit of a checkout. */
export function commitOf(checkout) {
  const { stdout } = spawnSync('git', ['-C', checkout, 'describe', '--always', '--dirty'], {
    encoding: 'utf8',
  });
  return stdout?.trim() || 'unknown';
}

function readCpuinfo() {
  try {
    return readFileSync('/proc/cpuinfo', 'utf8');
  } catch {
    return '';
  }
}
