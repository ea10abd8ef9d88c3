import { createHash } from 'node:crypto';
import type { GpuAddress } from '@ringrun/native';
import type { Kernel, Lowering } from './lowering.ts';

/** A kernel whose name follows from its body, so that equal kernels of a program are compiled once. */
export function generated(base: string, parameters: readonly string[], body: string): Kernel {
  const text = `(${parameters.join(', ')}) {\n${body}\n}\n`;
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 12);
  const name = `${base}_${hash}`;
  return {
    file: 'generated.cu',
    name,
    source: `extern "C" __global__ void ${name}${text}`,
    isGenerated: true,
  };
}

/** What a generated kernel needs so that it writes nothing after a refusal: see `Lowering.guard`. */
export interface Guard {
  readonly parameter: { readonly type: string; readonly name: string };
  readonly address: GpuAddress;
  /** Statement at the beginning. */
  readonly line: string;
}

export function guardOf(lowering: Pick<Lowering, 'guard'>): Guard | undefined {
  const address = lowering.guard();
  if (address === undefined) return undefined;
  return {
    parameter: { type: 'const long long*', name: 'refused' },
    address,
    line: '  if (*refused != 0) return;',
  };
}

/** Threads of a block of kernels that compute one element a thread. */
export const blockSize = 256;

/** Declares the index `i` of the element of a thread, below `count`. */
export function elementIndex(count: number): string {
  const type = count < 2 ** 31 ? 'unsigned' : 'unsigned long long';
  return `  const ${type} i = (${type})blockIdx.x * ${blockSize}u + threadIdx.x;\n  if (i >= ${count}u) return;`;
}

/** Blocks for threads that compute `each` elements. Default: 1. */
export function blocksFor(count: number, each = 1): readonly [number, number, number] {
  return [Math.ceil(count / (blockSize * each)), 1, 1];
}

/**
 * Elements that a thread computes: with one, a GPU full of threads has too few loads on their way to use its memory's bandwidth
 * (2,048 threads of an H100's multiprocessor load 8 KB of float32, and the memory's latency times its bandwidth is 14 KB); with
 * more, small arrays would leave multiprocessors without work.
 */
function elementsEach(count: number): number {
  return count >= 2 ** 19 && count < 2 ** 31 ? 4 : 1;
}

/** A variable that is stored. */
export interface Store {
  /** Where element `i` is stored: `to[i]`. */
  readonly target: string;
  readonly name: string;
  /** Of the variable: `float`. */
  readonly type: string;
}

/**
 * The statements of a thread: for each index `i` of its elements those of `body`, which set variables, then the stores of the
 * variables. Those of all elements are loaded before the first is stored, so that their loads are on their way together. No
 * element reads what another one stores.
 */
export function forElements(count: number, body: string, stores: readonly Store[]): string {
  const each = elementsEach(count);
  if (each === 1) {
    const stored = stores.map(({ target, name }) => `  ${target} = ${name};`);
    return [elementIndex(count), body, ...stored].join('\n');
  }
  const variables = stores.map(({ name, type }) => `  ${type} ${name}s[${each}];`);
  const kept = stores.map(({ name }) => `  ${name}s[k] = ${name};`);
  const stored = stores.map(({ target, name }) => `  ${target} = ${name}s[k];`);
  return [...variables, forEach(count, each, [body, ...kept]), forEach(count, each, stored)].join('\n');
}

/** Statements for each index `i`, of which the `k`-th is one block of threads after the one before. */
function forEach(count: number, each: number, statements: readonly string[]): string {
  const bound = count % (blockSize * each) === 0 ? [] : [`  if (i < ${count}u) {`];
  return [
    '#pragma unroll',
    `  for (int k = 0; k < ${each}; ++k) {`,
    `  const unsigned i = blockIdx.x * ${blockSize * each}u + k * ${blockSize}u + threadIdx.x;`,
    ...bound,
    ...statements,
    ...bound.map(() => '  }'),
    '  }',
  ].join('\n');
}

/** Blocks for `forElements`. */
export function blocksForElements(count: number): readonly [number, number, number] {
  return blocksFor(count, elementsEach(count));
}

/** One axis of an array, with the distance of its elements in one or several memories. */
export interface Axis {
  readonly size: number;
  readonly strides: readonly number[];
}

/** Merges axes whose elements lie behind each other in all memories, and drops those of one element. */
export function mergedAxes(axes: readonly Axis[]): readonly Axis[] {
  const merged: Axis[] = [];
  for (const axis of axes) {
    if (axis.size === 1) continue;
    const outer = merged.at(-1);
    const continues = outer?.strides.every((stride, memory) => stride === axis.strides[memory] * axis.size);
    if (outer && continues) {
      merged[merged.length - 1] = { size: outer.size * axis.size, strides: axis.strides };
    } else merged.push(axis);
  }
  return merged;
}

/** Where element `i` of row-major axes is in a memory, as an expression. */
export function positionOf(axes: readonly Axis[], memory: number, index = 'i'): string {
  let inner = 1;
  const terms: string[] = [];
  for (const [place, { size, strides }] of [...axes.entries()].reverse()) {
    const stride = strides[memory];
    const quotient = inner === 1 ? index : `${index} / ${inner}u`;
    const coordinate = place === 0 ? quotient : `(${quotient}) % ${size}u`;
    if (stride !== 0) terms.push(term(coordinate, stride));
    inner *= size;
  }
  return terms.length === 0 ? '0' : terms.join(' + ');
}

function term(coordinate: string, stride: number): string {
  if (stride === 1) return coordinate;
  return stride > 0 ? `(${coordinate}) * ${stride}u` : `(long long)(${coordinate}) * (${stride})`;
}

/** Row-major distances of the elements along each axis. */
export function stridesOf(shape: readonly number[]): number[] {
  const strides = shape.map(() => 1);
  for (let axis = shape.length - 2; axis >= 0; axis -= 1) strides[axis] = strides[axis + 1] * shape[axis + 1];
  return strides;
}

/** Distances in the memory of a value that is repeated to a shape: 0 along repeated axes. */
export function broadcastStrides(shape: readonly number[], whole: readonly number[]): number[] {
  const own = stridesOf(shape);
  const added = whole.length - shape.length;
  return whole.map((_, axis) => (axis < added || shape[axis - added] === 1 ? 0 : own[axis - added]));
}
