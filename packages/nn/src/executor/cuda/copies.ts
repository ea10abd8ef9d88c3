import type { GpuAddress } from '@ringrun/native';
import type { DType } from '../../dtype.ts';
import type { Value } from '../../graph/node.ts';
import { sizeOf } from '../../value-type.ts';
import { bytesOf, memoryTypes } from './element-types.ts';
import { literalOf } from './elementwise-operators.ts';
import {
  blockSize,
  blocksFor,
  blocksForElements,
  elementIndex,
  forElements,
  generated,
  mergedAxes,
  positionOf,
  stridesOf,
} from './generated.ts';
import { after, type Lowering, type LoweringFamily } from './lowering.ts';

/** Elements of an array: the place of the first, and the distances along each axis of the copied shape. */
export interface Elements {
  readonly at: GpuAddress;
  readonly first: number;
  readonly strides: readonly number[];
}

/** Copies the elements of a shape from one place to another. */
export function copyElements(
  lowering: Lowering,
  { dtype, shape }: { readonly dtype: DType; readonly shape: readonly number[] },
  from: Elements,
  to: Elements,
): void {
  const count = sizeOf(shape);
  if (count === 0) return;
  const bytes = bytesOf(dtype);
  const axes = mergedAxes(
    shape.map((size, axis) => ({ size, strides: [from.strides[axis], to.strides[axis]] })),
  );
  const start = [from, to].map(({ at, first }) => after(at, bytes * first));
  if (axes.every(({ strides }) => strides.every((stride) => stride === 1))) {
    lowering.add({ kind: 'copy', name: 'copy', from: start[0], to: start[1], bytes: bytes * count });
    return;
  }
  const type = memoryTypes[dtype];
  const load = `  const ${type} element = from[${positionOf(axes, 0)}];`;
  const body = forElements(count, load, [{ target: `to[${positionOf(axes, 1)}]`, name: 'element', type }]);
  const kernel = generated('copy', [`const ${type}* from`, `${type}* to`], body);
  lowering.launch(kernel, blocksForElements(count), [blockSize, 1, 1], start);
}

/** Writes one number to all elements. */
export function fillElements(
  lowering: Lowering,
  at: GpuAddress,
  { dtype, shape }: Pick<Value, 'dtype' | 'shape'>,
  value: number | bigint,
): void {
  const count = sizeOf(shape);
  if (count === 0) return;
  if (Object.is(Number(value), 0)) {
    lowering.add({ kind: 'fill', name: 'fill', at, bytes: bytesOf(dtype) * count });
    return;
  }
  const body = `${elementIndex(count)}\n  to[i] = ${literalOf(value, dtype)};`;
  const kernel = generated('fill', [`${memoryTypes[dtype]}* to`], body);
  lowering.launch(kernel, blocksFor(count), [blockSize, 1, 1], [at]);
}

type Copying =
  'Transpose' | 'SwapOuterAxes' | 'Concat' | 'Split' | 'Slice' | 'Flip' | 'Pad' | 'Trilu' | 'IndexSelect';

export const copies: LoweringFamily<Copying> = {
  Transpose: ({ inputs: [x], outputs: [y], attributes: { perm } }, lowering) => {
    const strides = stridesOf(x.shape);
    copyTo(
      lowering,
      x,
      y,
      0,
      perm.map((axis) => strides[axis]),
    );
  },
  SwapOuterAxes: ({ inputs: [x], outputs: [y] }, lowering) => {
    const [a, b, c, d] = stridesOf(x.shape);
    copyTo(lowering, x, y, 0, [d, b, c, a]);
  },
  Concat: ({ inputs, outputs: [y], attributes: { axis } }, lowering) => {
    const strides = stridesOf(y.shape);
    let start = 0;
    for (const part of inputs) {
      const from = { at: lowering.at(part), first: 0, strides: stridesOf(part.shape) };
      copyElements(lowering, part, from, { at: lowering.at(y), first: start * strides[axis], strides });
      start += part.shape[axis];
    }
  },
  Split: ({ inputs: [x], outputs, attributes: { axis } }, lowering) => {
    const strides = stridesOf(x.shape);
    let start = 0;
    for (const part of outputs) {
      if (lowering.isRead(part)) copyTo(lowering, x, part, start * strides[axis], strides);
      start += part.shape[axis];
    }
  },
  Slice: ({ inputs: [x], outputs: [y], attributes: { axis, start, given } }, lowering) => {
    const strides = stridesOf(x.shape);
    const step = given?.step ?? 1;
    copyTo(lowering, x, y, start * strides[axis], strides.with(axis, step * strides[axis]));
  },
  Flip: ({ inputs: [x], outputs: [y], attributes: { axis } }, lowering) => {
    const strides = stridesOf(x.shape);
    copyTo(lowering, x, y, (x.shape[axis] - 1) * strides[axis], strides.with(axis, -strides[axis]));
  },
  Pad: ({ inputs: [x], outputs: [y], attributes: { before, value = 0 } }, lowering) => {
    const strides = stridesOf(y.shape);
    fillElements(lowering, lowering.at(y), y, value);
    const first = before.reduce((sum, count, axis) => sum + count * strides[axis], 0);
    const from = { at: lowering.at(x), first: 0, strides: stridesOf(x.shape) };
    copyElements(lowering, x, from, { at: lowering.at(y), first, strides });
  },
  Trilu: ({ inputs: [x], outputs: [y], attributes: { upper, k } }, lowering) => {
    const count = sizeOf(x.shape);
    const [rows, columns] = x.shape.slice(-2);
    const type = memoryTypes[x.dtype];
    const body = `${elementIndex(count)}
  const long long distance = (long long)(i % ${columns}u) - (long long)(i / ${columns}u % ${rows}u) - (${k});
  to[i] = distance ${upper ? '>=' : '<='} 0 ? from[i] : (${type})0;`;
    const kernel = generated('trilu', [`const ${type}* from`, `${type}* to`], body);
    lowering.launch(kernel, blocksFor(count), [blockSize, 1, 1], [lowering.at(x), lowering.at(y)]);
  },
  IndexSelect: ({ inputs: [x], outputs: [y], attributes: { axis, positions } }, lowering) => {
    const type = memoryTypes[x.dtype];
    const inner = sizeOf(x.shape.slice(axis + 1));
    const count = sizeOf(y.shape);
    const body = `  static const int positions[] = {${positions.join()}};
${elementIndex(count)}
  const unsigned long long outer = i / ${inner * positions.length}u;
  to[i] = from[(outer * ${x.shape[axis]}u + positions[i / ${inner}u % ${positions.length}u]) * ${inner}u + i % ${inner}u];`;
    const kernel = generated('indexSelect', [`const ${type}* from`, `${type}* to`], body);
    lowering.launch(kernel, blocksFor(count), [blockSize, 1, 1], [lowering.at(x), lowering.at(y)]);
  },
};

/** Copies into a whole value, from a part of another one. */
function copyTo(lowering: Lowering, x: Value, y: Value, first: number, strides: readonly number[]): void {
  const to = { at: lowering.at(y), first: 0, strides: stridesOf(y.shape) };
  copyElements(lowering, y, { at: lowering.at(x), first, strides }, to);
}
