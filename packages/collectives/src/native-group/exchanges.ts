import { nativeOp } from '@ringrun/native';

import { DeviceTensor, InvalidArgumentError } from '@ringrun/core';
import type {
  AllToAllOptions,
  BufferByRank,
  CollectiveBuffer,
  DType,
  GatherOptions,
  ScatterOptions,
} from '@ringrun/core';
import type { Place } from './arguments.ts';
import { checkedDTypeOf, checkedRank, describeValue } from './arguments.ts';
import type { Named } from './parts.ts';
import { checkDType, dtypeOfParts, isList, listOfParts, partsBeside, splitParts } from './parts.ts';

/** The data sent to or received from one rank; null for none. */
type Block = CollectiveBuffer | null;

/**
 * One rank's side of an exchange, in the addon's form. The addon uses the arrays of the lists until the operation
 * completes, so the lists are not shared with the caller.
 */
export interface Exchange {
  /** One of `nativeOp`. */
  readonly op: number;
  /** Data to send to each rank. */
  readonly sends: Block[];
  /** Data to receive from each rank. */
  readonly receives: Block[];
  readonly dtype: DType;
  /** Rank `src` or `dst`; 0 for operations without one. */
  readonly root: number;
  /** True if the arrays are on a GPU. Empty arrays, which are null in the lists, count too. */
  readonly onDevice: boolean;
}

/** The functions below check the arguments of the `ProcessGroup` methods of the same name. */

export function allGatherExchange(place: Place, output: BufferByRank, input: CollectiveBuffer): Exchange {
  const receives = partsBeside({ name: 'output', value: output }, { name: 'input', value: input }, place);
  const sends = receives.map(() => input);
  return exchangeOf(nativeOp.allGather, sends, receives, checkedDTypeOf(input), 0);
}

export function gatherExchange(place: Place, input: CollectiveBuffer, options: GatherOptions): Exchange {
  const dtype = checkedDTypeOf(input, 'input');
  const root = checkedRank('dst', options.dst ?? 0, place.size);
  const output = onRootOnly({ name: 'output', value: options.output }, 'dst', root, place);
  const receives = output && partsBeside(output, { name: 'input', value: input }, place);
  const sends = toRoot(input, root, place);
  return exchangeOf(nativeOp.gather, sends, receives ?? nothing(place), dtype, root);
}

export function scatterExchange(place: Place, output: CollectiveBuffer, options: ScatterOptions): Exchange {
  const dtype = checkedDTypeOf(output, 'output');
  const root = checkedRank('src', options.src ?? 0, place.size);
  const input = onRootOnly({ name: 'input', value: options.input }, 'src', root, place);
  const sends = input && partsBeside(input, { name: 'output', value: output }, place);
  const receives = toRoot(output, root, place);
  return exchangeOf(nativeOp.scatter, sends ?? nothing(place), receives, dtype, root);
}

export function allToAllExchange(
  place: Place,
  output: BufferByRank,
  input: BufferByRank,
  options: AllToAllOptions,
): Exchange {
  checkAlike(output, input);
  const dtype = dtypeOfParts({ name: 'input', value: input }, place);
  const sends = sideOf('input', input, options.inputSplitSizes, dtype, place);
  const receives = sideOf('output', output, options.outputSplitSizes, dtype, place);
  const [given, taken] = [sends[place.rank].length, receives[place.rank].length];
  if (given === taken) return exchangeOf(nativeOp.allToAll, sends, receives, dtype, 0);
  throw new InvalidArgumentError(
    `rank ${place.rank}, which is this one, sends itself ${given} elements of input and receives ${taken} into output. ` +
      'Expected the same number',
  );
}

function checkAlike(output: BufferByRank, input: BufferByRank): void {
  if (isList(output) === isList(input)) return;
  const [list, other] = isList(output) ? ['output', 'input'] : ['input', 'output'];
  throw new InvalidArgumentError(
    `${list} is a list and ${other} is not: expected two lists, or two arrays (divided by outputSplitSizes and inputSplitSizes)`,
  );
}

function sideOf(
  name: 'input' | 'output',
  value: BufferByRank,
  sizes: readonly number[] | undefined,
  dtype: DType,
  place: Place,
): CollectiveBuffer[] {
  const sizesName = `${name}SplitSizes`;
  const expected = { dtype, from: 'input' };
  if (!isList(value)) {
    checkDType({ name, value }, expected);
    return splitParts({ name, value }, { name: sizesName, value: sizes }, place);
  }
  if (sizes === undefined) return listOfParts({ name, value }, expected, place);
  throw new InvalidArgumentError(
    `${sizesName} was given with a list as ${name}, expected one array. The arrays of a list have their own lengths: leave it out`,
  );
}

/** Checks gather's output or scatter's input: on other ranks it would be silently ignored. */
function onRootOnly(
  { name, value }: Named<BufferByRank | undefined>,
  rootName: 'src' | 'dst',
  root: number,
  { rank, size }: Place,
): Named<BufferByRank> | undefined {
  if (rank === root && value !== undefined) return { name, value };
  if (rank !== root && value === undefined) return undefined;
  throw new InvalidArgumentError(
    rank === root
      ? `${name} is missing on rank ${rank}, which is ${rootName}: expected one array for all ${size} ranks, or a list with one for each`
      : `${name} is ${describeValue(value)} on rank ${rank}, expected it only on rank ${root}, which is ${rootName}: leave it out here`,
  );
}

function toRoot(tensor: CollectiveBuffer, root: number, place: Place): Block[] {
  return nothing(place).map((none, rank) => (rank === root ? tensor : none));
}

function nothing({ size }: Place): null[] {
  return Array.from({ length: size }, () => null);
}

function exchangeOf(
  op: number,
  sends: readonly Block[],
  receives: readonly Block[],
  dtype: DType,
  root: number,
): Exchange {
  const onDevice = areOnDevice([...sends, ...receives]);
  return { op, sends: sends.map(nullIfEmpty), receives: receives.map(nullIfEmpty), dtype, root, onDevice };
}

function areOnDevice(blocks: readonly Block[]): boolean {
  const places = new Set(blocks.filter((one) => one !== null).map((one) => one instanceof DeviceTensor));
  if (places.size < 2) return places.has(true);
  throw new InvalidArgumentError(
    'expected all arrays on a GPU or all in host memory, got some of each. Use copyFromHost or copyToHost for the others',
  );
}

function nullIfEmpty(block: Block): Block {
  return block?.length === 0 ? null : block;
}
