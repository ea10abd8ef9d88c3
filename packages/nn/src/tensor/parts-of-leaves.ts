/*
 * Loops over a dataset in memory take its rows as x.at([i, i + 64]) or x.at(indices). As operations of the graph, each place would be
 * a program of its own, and each run would copy the whole dataset. So parts of tensors whose elements the host has are tensors of
 * their own: the rows of a slice are a view of the same array, rows at indices are copied at the call, as in torch.
 */
import { newArray, type TensorData } from '../dtype.ts';
import { isRecordingElementUse } from '../graph/element-checks.ts';
import { isNode, type Value } from '../graph/node.ts';
import { isTracingSizes } from '../graph/size-tracing.ts';
import type { Source } from '../graph/source.ts';
import { sourceOfLeaf } from '../graph/source-of-leaf.ts';
import { input } from '../ops/source.ts';
import { sizeOf } from '../value-type.ts';

/**
 * A part of a tensor, as a leaf if it is a slice along the first axis, or a reshaped one, of a leaf that the host has. Returns
 * other values unchanged, and those that a recorded function takes of its arguments: later calls bind other arrays to these.
 */
export function asLeaf(part: Value): Value {
  if (isRecorded()) return part;
  const { node, dtype, shape } = part;
  if (isNode(node, 'Reshape')) {
    const source = sourceOnHost(asLeaf(node.inputs[0]));
    return source ? input(dtype, shape, source) : part;
  }
  if (!isNode(node, 'Slice') || node.attributes.axis !== 0) return part;
  const whole = asLeaf(node.inputs[0]);
  const source = sourceOnHost(whole);
  if (source === undefined) return part;
  const { start, end } = node.attributes;
  const row = sizeOf(whole.shape.slice(1));
  return input(dtype, shape, { ...source, data: source.data.subarray(start * row, end * row) });
}

/**
 * The rows at positions along the first axis, copied; undefined unless the host has the elements of both.
 *
 * @param positions int64, checked; negative ones count from the end
 */
export function rowsOnHost(whole: Value, positions: Value): Value | undefined {
  if (isRecorded()) return undefined;
  const [source, at] = [sourceOnHost(whole), sourceOnHost(positions)];
  if (source === undefined || at === undefined) return undefined;
  const [count, ...rest] = whole.shape;
  const row = sizeOf(rest);
  const data = newArray(whole.dtype, at.data.length * row);
  for (let place = 0; place < at.data.length; place += 1) {
    const position = Number(at.data[place]);
    copyRow(source.data, position < 0 ? position + count : position, row, data, place);
  }
  return input(whole.dtype, [...positions.shape, ...rest], { data });
}

function copyRow(from: TensorData, row: number, length: number, to: TensorData, place: number): void {
  // Rows of one element, such as labels, need no view.
  if (length === 1) to[place] = from[row];
  else
    (to as Float32Array).set(from.subarray(row * length, (row + 1) * length) as Float32Array, place * length);
}

/** The source of a leaf whose elements are in an array of the host that no parameter, buffer or device has. */
function sourceOnHost(value: Value): Source | undefined {
  const source = sourceOfLeaf(value);
  if (source === undefined || 'bufferIn' in source || 'arrived' in source) return undefined;
  return (source.memory ?? source.parameter ?? source.frozen ?? source.device) === undefined
    ? source
    : undefined;
}

function isRecorded(): boolean {
  return isTracingSizes() || isRecordingElementUse();
}
