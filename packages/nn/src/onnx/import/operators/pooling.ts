import { sizeOf } from '../../../value-type.ts';
import { conv } from '../../../ops/convolution.ts';
import { averagePool, maxPool } from '../../../ops/pooling.ts';
import { expand } from '../../../ops/shape.ts';
import { constant, constantTensor } from '../../../ops/source.ts';
import { Tensor } from '../../../tensor/tensor.ts';
import {
  flag,
  floating,
  input,
  ints,
  oneOf,
  operator,
  requiredInts,
  since,
  type OperatorVersions,
} from '../specification.ts';
import { asTensor, integers } from '../constant-array.ts';
import { windowOf, type AutoPad, type Window } from './window.ts';
import { isSameSequence } from '../../../graph/same-data.ts';

const attributes = {
  auto_pad: oneOf<AutoPad>('NOTSET', 'SAME_UPPER', 'SAME_LOWER', 'VALID'),
  ceil_mode: since(10, flag(0)),
  kernel_shape: requiredInts,
  pads: ints,
  strides: ints,
};
const images = { types: { T: floating }, inputs: [input('X')] };

/** Pools over [N, C, …] with one to three axes. */
export const poolingOperators = {
  MaxPool: operator({
    ...images,
    outputs: ['T', 'int64'],
    attributes: { ...attributes, dilations: since(10, ints), storage_order: since(8, flag(0)) },
    compute: (call) => {
      const x = call.tensor(0);
      const spatial = x.shape.slice(2);
      const { kernelShape, strides, pads, dilations } = windowOf(
        call.attributes,
        spatial,
        call.attributes.kernel_shape,
      );
      const isDense = dilations.every((one) => one === 1);
      const window = isDense ? { kernelShape, strides, pads } : { kernelShape, strides, pads, dilations };
      const maxima = maxPool(x.value, window);
      const positions = new Tensor(maxima.node.outputs[1]);
      const isColumnMajor = call.attributes.storage_order === 1;
      return [new Tensor(maxima), isColumnMajor ? columnMajor(positions, spatial) : positions];
    },
  }),
  AveragePool: operator({
    ...images,
    attributes: { ...attributes, count_include_pad: flag(0), dilations: since(19, ints) },
    compute: (call) => {
      const x = call.tensor(0);
      const window = windowOf(call.attributes, x.shape.slice(2), call.attributes.kernel_shape);
      const countIncludePad = call.attributes.count_include_pad === 1;
      const { kernelShape, strides, pads, ownPads, dilations } = window;
      if (dilations.every((one) => one === 1) && isSameSequence(pads, ownPads)) {
        return new Tensor(averagePool(x.value, { kernelShape, strides, pads, countIncludePad }));
      }
      return averages(x, window, countIncludePad);
    },
  }),
  GlobalAveragePool: operator({
    ...images,
    attributes: {},
    compute: (call) => call.tensor(0).mean(imageAxes(call.tensor(0)), true),
  }),
  GlobalMaxPool: operator({
    ...images,
    attributes: {},
    compute: (call) => call.tensor(0).amax(imageAxes(call.tensor(0)), true),
  }),
} as const satisfies Readonly<Record<string, OperatorVersions>>;

function imageAxes(x: Tensor): number[] {
  return [...x.shape.keys()].slice(2);
}

/** Means of windows of any kind: sums, as convolutions of each channel with ones, divided by the elements that count. */
function averages(x: Tensor, window: Window, countIncludePad: boolean): Tensor {
  const { kernelShape, strides, pads, dilations } = window;
  const [n, channels, ...spatial] = x.shape;
  const ones = expand(constant(1), [1, 1, ...kernelShape]);
  const images = x.view(n * channels, 1, ...spatial);
  const sums = new Tensor(conv(images.value, ones, undefined, { strides, pads, dilations, group: 1 }));
  const counts = countsOf(spatial, sums.shape.slice(2), window, countIncludePad);
  return sums
    .div(new Tensor(constantTensor(sums.shape.slice(2), counts)))
    .view(n, channels, ...sums.shape.slice(2));
}

/** Elements of each window that are in the images, or in the pads of the node if those count. Row-major. */
function countsOf(
  spatial: readonly number[],
  windows: readonly number[],
  { kernelShape, strides, pads, ownPads, dilations }: Window,
  countIncludePad: boolean,
): number[] {
  const axes = kernelShape.length;
  const along = windows.map((count, axis) => {
    const [before, after] = countIncludePad ? [ownPads[axis], ownPads[axis + axes]] : [0, 0];
    return Array.from({ length: count }, (_, position) => {
      const start = position * strides[axis] - pads[axis];
      const places = Array.from({ length: kernelShape[axis] }, (_one, tap) => start + tap * dilations[axis]);
      return places.filter((place) => place >= -before && place < spatial[axis] + after).length;
    });
  });
  return along.reduce((sizes, counts) => sizes.flatMap((size) => counts.map((count) => size * count)), [1]);
}

/** Converts row-major positions to column-major ones, in which the first axis varies fastest. */
function columnMajor(positions: Tensor, spatial: readonly number[]): Tensor {
  const number = (value: number) => asTensor(integers([value], []));
  const area = sizeOf(spatial);
  const inImage = positions.remainder(area);
  return spatial.reduce((sum, size, axis) => {
    const coordinate = inImage.floorDivide(sizeOf(spatial.slice(axis + 1))).remainder(size);
    return sum.add(coordinate.mul(number(sizeOf(spatial.slice(0, axis)))));
  }, positions.sub(inImage));
}
