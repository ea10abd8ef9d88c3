import { cat } from '../../../combine.ts';
import { sizeOf } from '../../../graph/node.ts';
import { indexSelect } from '../../../ops/indexing.ts';
import { split as splitSizes } from './split.ts';
import * as F from '../../../functional/index.ts';
import { Tensor } from '../../../tensor.ts';
import { constantArray, integers } from '../constant-array.ts';
import { axisOf, reshapedTo, slicesOf, squeezed, unsqueezed } from '../folding.ts';
import type { OperatorCall, OperatorRules } from '../call.ts';

/** Operators that move elements. */
export const shapeRules: OperatorRules = {
  Constant: (call) => {
    const value = call.array('value');
    if (value) return value;
    const [floats, float] = [call.ints('value_floats'), call.float('value_float', NaN)];
    if (floats) return constantArray('float32', [floats.length], floats);
    if (!Number.isNaN(float)) return constantArray('float32', [], [float]);
    const [ints, int] = [call.ints('value_ints'), call.int('value_int', NaN)];
    if (ints) return integers(ints);
    if (!Number.isNaN(int)) return integers([int], []);
    throw call.error('expected an array or a number as its value');
  },
  Shape: (call) => {
    const shape = call.operand(0).shape;
    return integers(shape.slice(call.int('start', 0), call.int('end', shape.length)));
  },
  Size: (call) => integers([sizeOf(call.operand(0).shape)], []),
  Reshape: (call) => call.tensor(0).view(...reshapedTo(call, call.tensor(0).shape)),
  Flatten: (call) => {
    const x = call.tensor(0);
    const axis = axisOf(call.int('axis', 1), x.shape.length);
    return x.view(sizeOf(x.shape.slice(0, axis)), sizeOf(x.shape.slice(axis)));
  },
  Unsqueeze: (call) => call.tensor(0).view(...unsqueezed(call, call.tensor(0).shape)),
  Squeeze: (call) => call.tensor(0).view(...squeezed(call, call.tensor(0).shape)),
  Transpose: (call) => {
    const x = call.tensor(0);
    return x.permute(...(call.ints('perm') ?? [...x.shape.keys()].reverse()));
  },
  Concat: (call) => cat(call.tensors(), call.int('axis', 0)),
  Split: splitSizes,
  Slice: (call) => {
    const x = call.tensor(0);
    return [...slicesOf(call, x.shape)].reduce((part, [axis, positions]) => {
      const start = positions.at(0) ?? 0;
      const isRun = positions.every((position, k) => position === start + k);
      if (isRun) return part.slice(axis, start, start + positions.length);
      return new Tensor(indexSelect(part.value, axis, positions));
    }, x);
  },
  Gather: gather,
  GatherElements: (call) => call.tensor(0).gather(call.int('axis', 0), call.tensor(1)),
  ScatterElements: (call) => {
    const reduction = call.string('reduction', 'none');
    const [data, positions, updates] = [call.tensor(0), call.tensor(1), call.tensor(2)];
    const axis = call.int('axis', 0);
    if (reduction === 'none') return data.scatter(axis, positions, updates);
    if (reduction === 'add') return data.scatterAdd(axis, positions, updates);
    throw call.error(`expected the reduction none or add, got ${reduction}`);
  },
  Expand: (call) => {
    const x = call.tensor(0);
    const given = call.numbers(1) ?? [];
    const rank = Math.max(given.length, x.shape.length);
    const sizes = Array.from({ length: rank }, (_, axis) => {
      const [own, wanted] = [x.shape, given].map((shape) => shape[axis - rank + shape.length] ?? 1);
      return wanted === 1 ? own : wanted;
    });
    return x.expand(...sizes);
  },
  Tile: (call) => call.tensor(0).repeat(...(call.numbers(1) ?? [])),
  Trilu: (call) => {
    const [x, k] = [call.tensor(0), call.number(1) ?? 0];
    return call.int('upper', 1) ? x.triu(k) : x.tril(k);
  },
  Pad: (call) => {
    const x = call.tensor(0);
    const pads = call.list('pads', 1) ?? [];
    const axes = call.numbers(3)?.map((axis) => axisOf(axis, x.shape.length)) ?? [...x.shape.keys()];
    const sides = x.shape.map((_, axis) => {
      const k = axes.indexOf(axis);
      return k === -1 ? [0, 0] : [pads[k], pads[k + axes.length]];
    });
    const modes = { constant: 'constant', reflect: 'reflect', edge: 'replicate', wrap: 'circular' } as const;
    const mode = modes[call.string('mode', 'constant') as keyof typeof modes];
    const value = call.float('value', call.number(2) ?? 0);
    return F.pad(x, sides.toReversed().flat(), mode === 'constant' ? { value } : { mode });
  },
};

/** Elements at positions along an axis; positions of any shape take its place. */
function gather(call: OperatorCall): Tensor {
  const [x, positions] = [call.tensor(0), call.operand(1)];
  const axis = axisOf(call.int('axis', 0), x.shape.length);
  const shape = x.shape.toSpliced(axis, 1, ...positions.shape);
  if (!(positions instanceof Tensor)) {
    const known = Array.from(positions.data, (place) => (place < 0 ? place + x.shape[axis] : place));
    const selected =
      known.length === 1 ? x.narrow(axis, known[0], 1) : new Tensor(indexSelect(x.value, axis, known));
    return selected.view(...shape);
  }
  if (axis === 0 && x.shape.length === 2 && x.dtype === 'float32') return F.embedding(positions, x);
  return x.indexSelect(axis, positions.view(-1)).view(...shape);
}
