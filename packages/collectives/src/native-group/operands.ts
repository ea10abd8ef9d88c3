import type { NativePlacedTensor } from '@ringrun/native';
import { nativeDType, nativeReduceOp } from '@ringrun/native';

import { InvalidArgumentError, ReduceOp } from '@ringrun/core';
import type {
  BroadcastOptions,
  BufferByRank,
  CollectiveBuffer,
  RecvOptions,
  ReduceOpOption,
  ReduceOptions,
  SendOptions,
} from '@ringrun/core';
import type { Place } from './arguments.ts';
import {
  checkedDTypeOf,
  checkedOpOfAnyDType,
  checkedPeer,
  checkedRank,
  checkedReduceOpFor,
  checkedTag,
} from './arguments.ts';
import type { Exchange } from './exchanges.ts';
import { listOfOneDType, partsBeside } from './parts.ts';

/*
 * The functions below check the arguments of the `ProcessGroup` methods of the same name, and return the addon's
 * arguments that precede the timeout.
 */

type TensorOperand = [tensor: NativePlacedTensor, dtype: number];

/** For an empty list of tensors. */
const noDType = 0;

/** Receives from any sender. */
const anyRank = -1;

export function allReduceOperands(
  tensor: CollectiveBuffer,
  options: ReduceOpOption,
): [...TensorOperand, reduceOp: number] {
  const dtype = checkedDTypeOf(tensor);
  const { op } = options;
  // Every dtype supports the default, on CPUs and GPUs.
  const number = op === undefined ? nativeReduceOp.SUM : checkedReduceOpFor(tensor, op, dtype);
  return [tensor, nativeDType[dtype], number];
}

export function allReduceCoalescedOperands(
  tensors: readonly CollectiveBuffer[],
  options: ReduceOpOption,
): [tensors: NativePlacedTensor[], dtype: number, reduceOp: number] {
  const list = listOfOneDType({ name: 'tensors', value: tensors });
  const op = options.op ?? ReduceOp.SUM;
  if (list.length === 0) return [[], noDType, checkedOpOfAnyDType(op)];
  const [, dtype, number] = allReduceOperands(list[0], { op });
  return [list, dtype, number];
}

export function reduceOperands(
  { size }: Place,
  tensor: CollectiveBuffer,
  options: ReduceOptions,
): [...TensorOperand, reduceOp: number, root: number] {
  return [...allReduceOperands(tensor, options), checkedRank('dst', options.dst ?? 0, size)];
}

export function reduceScatterOperands(
  place: Place,
  output: CollectiveBuffer,
  input: BufferByRank,
  options: ReduceOpOption,
): [output: NativePlacedTensor, inputs: NativePlacedTensor[], dtype: number, reduceOp: number] {
  const dtype = checkedDTypeOf(output, 'output');
  const op = checkedReduceOpFor(output, options.op ?? ReduceOp.SUM, dtype);
  const inputs = partsBeside({ name: 'input', value: input }, { name: 'output', value: output }, place);
  return [output, inputs, nativeDType[dtype], op];
}

export function broadcastOperands(
  { size }: Place,
  tensor: CollectiveBuffer,
  options: BroadcastOptions,
): [...TensorOperand, root: number] {
  return [tensor, nativeDType[checkedDTypeOf(tensor)], checkedRank('src', options.src ?? 0, size)];
}

export function exchangeOperands({
  op,
  sends,
  receives,
  dtype,
  root,
  onDevice,
}: Exchange): [
  op: number,
  sends: (NativePlacedTensor | null)[],
  receives: (NativePlacedTensor | null)[],
  dtype: number,
  root: number,
  onDevice: boolean,
] {
  return [op, sends, receives, nativeDType[dtype], root, onDevice];
}

export function sendOperands(
  place: Place,
  tensor: CollectiveBuffer,
  dst: number,
  options: SendOptions,
): [...TensorOperand, to: number, tag: number] {
  const dtype = nativeDType[checkedDTypeOf(tensor)];
  return [tensor, dtype, checkedPeer('dst', dst, place), checkedTag(options.tag ?? 0)];
}

export function receiveOperands(
  place: Place,
  tensor: CollectiveBuffer,
  options: RecvOptions,
): [...TensorOperand, from: number, tag: number] {
  const dtype = nativeDType[checkedDTypeOf(tensor)];
  const from = options.src === undefined ? checkedAnyone(place) : checkedPeer('src', options.src, place);
  return [tensor, dtype, from, checkedTag(options.tag ?? 0)];
}

function checkedAnyone({ size }: Place): number {
  if (size > 1) return anyRank;
  throw new InvalidArgumentError(
    'recv was called in a group of one, expected a group of two or more: no other rank can send',
  );
}
