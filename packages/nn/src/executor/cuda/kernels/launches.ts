import type { GpuArgument, GpuExtent } from '@ringrun/native';
import type { DType } from '../../../dtype.ts';
import type { Kernel, Lowering } from '../lowering.ts';
import { sourceOf } from './prelude.ts';

/** The kernels of one source, by name. */
export function kernelsIn<Name extends string>(
  file: string,
  source: string,
  names: readonly Name[],
): Readonly<Record<Name, Kernel>> {
  const kernels: Readonly<Record<string, Kernel>> = Object.fromEntries(
    names.map((name) => [name, { file, name, source }]),
  );
  return kernels;
}

/** The dtypes of the types that a source names. */
export type ElementTypes<Type extends string> = Readonly<Record<Type, DType>>;

/**
 * The kernels of one source, whose elements in memory have the named types: those for some dtypes, and all for a list of them.
 *
 * @param body without the prelude
 */
export function typedKernels<Name extends string, Type extends string>(
  file: string,
  types: readonly Type[],
  body: string,
  names: readonly Name[],
) {
  const made = new Map<string, Readonly<Record<Name, Kernel>>>();
  const of = (dtypes: ElementTypes<Type>): Readonly<Record<Name, Kernel>> => {
    const key = [file, ...types.map((type) => dtypes[type])].join('-');
    const known = made.get(key) ?? kernelsIn(`${key}.cu`, sourceOf(body, dtypes), names);
    made.set(key, known);
    return known;
  };
  const all = (forms: readonly ElementTypes<Type>[]): readonly Kernel[] =>
    forms.flatMap((dtypes) => Object.values<Kernel>(of(dtypes)));
  return { of, all };
}

/** Threads of a block of `launchElements`. */
const elementThreads = 256;

/** Blocks that fill the largest GPU several times. Kernels loop over the elements beyond them. */
const mostBlocks = 132 * 32;

/**
 * Launches a kernel that loops over elements from `firstElement()` in steps of `gridStride()`.
 *
 * @param last the last argument. Default: `count`.
 */
export function launchElements(
  lowering: Lowering,
  kernel: Kernel,
  count: number,
  args: readonly GpuArgument[],
  last = count,
): void {
  if (count === 0) return;
  const blocks = Math.min(Math.ceil(count / elementThreads), mostBlocks);
  lowering.launch(kernel, [blocks, 1, 1], [elementThreads, 1, 1], [...args, int64(last)]);
}

/** Two kernels for rows of the same length: a warp or a block for each row. */
export interface RowKernels {
  readonly warp: Kernel;
  readonly block: Kernel;
}

const warpsOfBlock = 4;
const blockThreads = 256;

/** Rows with more elements are divided among the threads of a block. */
const longestOfWarp = 1024;

/**
 * The text of two kernels `nameByWarp` and `nameByBlock` that call the device function `name<threads>(arguments, row)`. The
 * number of rows is their last parameter.
 */
export function rowKernelsText(name: string, parameters: readonly string[]): string {
  const names = parameters.map((parameter) => /\w+$/.exec(parameter)![0]).join(', ');
  const list = parameters.join(', ');
  return `
extern "C" __global__ void __launch_bounds__(${32 * warpsOfBlock}) ${name}ByWarp(${list}, int64 rows) {
  const int64 row = static_cast<int64>(blockIdx.x) * ${warpsOfBlock} + threadIdx.x / 32;
  if (row < rows) ${name}<32>(${names}, row);
}
extern "C" __global__ void __launch_bounds__(${blockThreads}) ${name}ByBlock(${list}, int64 rows) {
  ${name}<${blockThreads}>(${names}, blockIdx.x);
}
`;
}

/** Launches the kernel for rows of this width. */
export function launchRows(
  lowering: Lowering,
  { warp, block }: RowKernels,
  rows: number,
  width: number,
  args: readonly GpuArgument[],
): void {
  if (rows === 0) return;
  const isShort = width <= longestOfWarp;
  const blocks = isShort ? Math.ceil(rows / warpsOfBlock) : rows;
  const threads = isShort ? 32 * warpsOfBlock : blockThreads;
  lowering.launch(isShort ? warp : block, [blocks, 1, 1], [threads, 1, 1], [...args, int64(rows)]);
}

/** Launches one block. */
export function launchBlock(
  lowering: Pick<Lowering, 'launch'>,
  kernel: Kernel,
  threads: number,
  args: readonly GpuArgument[],
): void {
  const grid: GpuExtent = [1, 1, 1];
  lowering.launch(kernel, grid, [threads, 1, 1], args);
}

export const int32 = (value: number): GpuArgument => ({ int32: value });
export const int64 = (value: number): GpuArgument => ({ int64: value });
export const float32 = (value: number): GpuArgument => ({ float32: value });

/** The argument of an optional input that a node lacks. */
export const nullPointer: GpuArgument = { uint64: 0 };

/** Where an optional input is, or the null pointer. */
export function addressOf(lowering: Lowering, value: Parameters<Lowering['at']>[0] | undefined): GpuArgument {
  return value === undefined ? nullPointer : lowering.at(value);
}
