import type { Scalar } from '../../../dtype.ts';
import * as F from '../../../functional/index.ts';
import { indexSelect } from '../../../ops/indexing.ts';
import { Tensor } from '../../../tensor/tensor.ts';
import type { OperatorCall } from '../call.ts';
import type { Operand } from '../constant-array.ts';
import { axisOf } from '../folding.ts';
import {
  every,
  float,
  floating,
  input,
  integral,
  known,
  oneOf,
  operator,
  optional,
  requiredInt,
  requiredInts,
  since,
  type OperatorVersions,
} from '../specification.ts';

type PadMode = 'constant' | 'reflect' | 'edge' | 'wrap';

/** Operators that rearrange images, and pads. */
export const imageOperators = {
  DepthToSpace: operator({
    types: { T: every },
    inputs: [input('input')],
    attributes: { blocksize: requiredInt, mode: since(11, oneOf('DCR', 'CRD')) },
    compute: (call) => {
      const { blocksize: r, mode } = call.attributes;
      const x = call.tensor(0);
      const [n, channels, height, width] = x.shape;
      const kept = channels / (r * r);
      if (!Number.isInteger(kept))
        throw call.mismatch(`expected a multiple of ${r * r} channels, got ${channels}`);
      const blocks =
        mode === 'DCR'
          ? x.view(n, r, r, kept, height, width).permute(0, 3, 4, 1, 5, 2)
          : x.view(n, kept, r, r, height, width).permute(0, 1, 4, 2, 5, 3);
      return blocks.view(n, kept, height * r, width * r);
    },
  }),
  SpaceToDepth: operator({
    types: { T: every },
    inputs: [input('input')],
    attributes: { blocksize: requiredInt, mode: since(28, oneOf('DCR', 'CRD')) },
    compute: (call) => {
      const { blocksize: r, mode } = call.attributes;
      const x = call.tensor(0);
      const [n, channels, height, width] = x.shape;
      if (height % r !== 0 || width % r !== 0) {
        throw call.mismatch(`expected images whose sides are multiples of ${r}, got ${height}x${width}`);
      }
      const blocks = x.view(n, channels, height / r, r, width / r, r);
      const order = mode === 'DCR' ? [0, 3, 5, 1, 2, 4] : [0, 1, 3, 5, 2, 4];
      return blocks.permute(...order).view(n, channels * r * r, height / r, width / r);
    },
  }),
  Pad: [
    ...operator({
      until: 10,
      types: { T: floating },
      inputs: [input('data')],
      attributes: {
        mode: oneOf<PadMode>('constant', 'reflect', 'edge'),
        pads: requiredInts,
        value: float(0),
      },
      compute: (call) => {
        const { pads, mode, value } = call.attributes;
        const x = call.tensor(0);
        return padded(call, { x, pads, axes: [...x.shape.keys()], mode, value });
      },
    }),
    ...operator({
      since: 11,
      types: { T: every, I: integral, Tind: integral },
      inputs: [
        input('data'),
        known(input('pads', 'I')),
        known(optional('constant_value')),
        since(18, known(optional('axes', 'Tind'))),
      ],
      attributes: { mode: oneOf<PadMode>('constant', 'reflect', 'edge', 'wrap') },
      compute: (call) => {
        const x = call.tensor(0);
        const axes = call.numbers(3)?.map((axis) => axisOf(axis, x.shape.length)) ?? [...x.shape.keys()];
        const { mode } = call.attributes;
        return padded(call, { x, pads: call.numbers(1)!, axes, mode, value: valueOf(call.operands.at(2)) });
      },
    }),
  ],
} as const satisfies Readonly<Record<string, OperatorVersions>>;

interface Padding {
  readonly x: Tensor;
  /** Before all axes, then after them; negative numbers remove elements. */
  readonly pads: readonly number[];
  readonly axes: readonly number[];
  readonly mode: PadMode;
  readonly value: Scalar;
}

/** A number that is known before the graph runs. */
function valueOf(operand: Operand | undefined): Scalar {
  return operand === undefined || operand instanceof Tensor ? 0 : operand.data[0];
}

function padded(call: OperatorCall<unknown>, { x, pads, axes, mode, value }: Padding): Tensor {
  const sides = axes.map((axis, k) => ({ axis, before: pads[k], after: pads[k + axes.length] }));
  const most = (size: number) =>
    ({ constant: Infinity, edge: Infinity, reflect: size - 1, wrap: size })[mode];
  if (sides.some(({ axis, before, after }) => Math.max(before, after) > most(x.shape[axis]))) {
    return sides.reduce((part, side) => extended(call, part, side, mode), x);
  }
  const amounts = [...x.shape.keys()].map((axis) => {
    const side = sides.find((one) => one.axis === axis);
    return side ? [side.before, side.after] : [0, 0];
  });
  const options = mode === 'constant' ? { value } : { mode: modes[mode] };
  if (x.dtype !== 'bool') return F.pad(x, amounts.toReversed().flat(), options);
  return F.pad(x.float(), amounts.toReversed().flat(), options).bool();
}

const modes = { reflect: 'reflect', edge: 'replicate', wrap: 'circular' } as const;

interface Side {
  readonly axis: number;
  readonly before: number;
  readonly after: number;
}

/** Repeats elements of an axis on both sides, as numpy.pad does, even more of them than exist. */
function extended(
  call: OperatorCall<unknown>,
  x: Tensor,
  { axis, before, after }: Side,
  mode: PadMode,
): Tensor {
  if (before === 0 && after === 0) return x;
  const size = x.shape[axis];
  if (size === 0) throw call.mismatch(`expected elements to repeat along axis ${axis}, got none`);
  const length = Math.max(0, size + before + after);
  const places = Array.from({ length }, (_, place) => sourceOf(place - before, size, mode));
  return new Tensor(indexSelect(x.value, axis, places));
}

/** Maps a position outside to the one among `size` elements that it repeats. */
function sourceOf(place: number, size: number, mode: PadMode): number {
  if (mode === 'edge' || size === 1) return Math.min(Math.max(place, 0), size - 1);
  const period = mode === 'wrap' ? size : 2 * (size - 1);
  const inside = ((place % period) + period) % period;
  return inside < size ? inside : period - inside;
}
