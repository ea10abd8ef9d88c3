import { isFloat } from '../dtype.ts';
import { ShapeError } from '../errors/errors.ts';
import { createNode, createValue, type Value } from '../graph/node.ts';
import { describeType, inFloat32, sizeOf } from '../value-type.ts';
import { type MaybeValue, type OperatorFamily } from './definition.ts';
import { add, div, mul, neg, sqrt, sub } from './elementwise.ts';
import { reduceSum } from './reduction.ts';
import { expand, reshape } from './shape.ts';
import { constant } from './source.ts';

/** x·scale + shift for each channel: [N, C, …] and twice [C]. */
export function affine(x: Value, scale: Value, shift: Value): Value {
  requireChannels('instanceNorm', x, { scale, shift });
  return createValue('Affine', [x, scale, shift], {}, x);
}

/** A value normalized over its batch, with its mean and variance. */
export interface BatchNormalized {
  /** [N, C, …] */
  readonly normalized: Value;
  /** [C] */
  readonly mean: Value;
  /** [C], biased: divided by the number of elements. */
  readonly variance: Value;
}

/** Computes (x − mean) / √(variance + epsilon)·weight + bias, with mean and variance [C] over all axes except the channels. */
export function batchNormalize(x: Value, weight: Value, bias: Value, epsilon: number): BatchNormalized {
  requireChannels('batchNorm', x, { weight, bias });
  const node = createNode('BatchNormalize', [x, weight, bias], { epsilon }, [
    x,
    inFloat32(weight),
    inFloat32(weight),
    inFloat32(x),
  ]);
  const [normalized, mean, variance] = node.outputs;
  return { normalized, mean, variance };
}

/** Reshapes [C] to [1, C, 1, …] with as many dimensions as `like`. */
export function alongChannels(value: Value, like: Value): Value {
  return reshape(
    value,
    like.shape.map((size, axis) => (axis === 1 ? size : 1)),
  );
}

export const batchNormalization: OperatorFamily<'Affine' | 'BatchNormalize'> = {
  Affine: {
    // BatchNormalization with mean 0 and variance 1 is one pass; Mul and Add are two.
    emit: (graph, { inputs: [{ shape }] }, [x, scale, shift], outputs) => {
      const [zeros, ones] = [0, 1].map((number) => perChannel(shape, number));
      const statistics = [zeros, ones].map((numbers) => graph.constant('float32', [numbers.length], numbers));
      graph.node('BatchNormalization', [x, scale, shift, ...statistics], outputs, { epsilon: { float: 0 } });
    },
    gradient: ({ inputs: [x, scale] }, [d]) => {
      if (d === undefined) return [];
      const axes = allButChannels(x);
      return [mul(d, alongChannels(scale, x)), reduceSum(mul(d, x), axes), reduceSum(d, axes)];
    },
  },
  BatchNormalize: {
    emit: (graph, { inputs: [{ shape }], attributes: { epsilon } }, [x, weight, bias], outputs) => {
      const [normalized, mean, variance, centered] = outputs;
      const [meanInPlace, squares] = ['meanInPlace', 'squares'].map((name) => graph.freshName(name));
      const axes = shape.map((_, axis) => axis).filter((axis) => axis !== 1);
      const over = graph.constant('int64', [axes.length], axes);
      graph.node('ReduceMean', [x, over], [meanInPlace], { keepdims: 1 });
      graph.node('Reshape', [meanInPlace, graph.constant('int64', [1], [shape[1]])], [mean]);
      // x is not read below, so onnxruntime can reuse its memory for `centered`, which the gradient reads.
      graph.node('Sub', [x, meanInPlace], [centered]);
      graph.node('Mul', [centered, centered], [squares]);
      graph.node('ReduceMean', [squares, over], [variance], { keepdims: 0 });
      const zeros = graph.constant('float32', [shape[1]], perChannel(shape, 0));
      graph.node('BatchNormalization', [centered, weight, bias, zeros, variance], [normalized], {
        epsilon: { float: epsilon },
      });
    },
    // With s = √(variance + ε), n elements per channel, c = x − mean and sums over a channel: dx = w/s·(dy − Σdy/n − c·Σ(dy·c)/(n·s²)).
    gradient: ({ inputs: [x, weight], outputs: [, , variance, centered], attributes }, gradients) => {
      const [d, dMean, dVariance, dCentered] = gradients;
      const axes = allButChannels(x);
      const count = constant(sizeOf(axes.map((axis) => x.shape[axis])));
      const alone = [
        dMean && expand(alongChannels(div(dMean, count), x), x.shape),
        dVariance && mul(centered, alongChannels(div(mul(dVariance, constant(2)), count), x)),
        dCentered && sub(dCentered, alongChannels(div(reduceSum(dCentered, axes), count), x)),
      ];
      if (d === undefined) return [added(alone)];
      const shifted = add(variance, constant(attributes.epsilon));
      const deviation = sqrt(shifted);
      const scale = div(weight, deviation);
      const sum = reduceSum(d, axes);
      const dot = reduceSum(mul(d, centered), axes);
      const straight = affine(d, scale, neg(div(mul(scale, sum), count)));
      const along = neg(div(mul(scale, dot), mul(shifted, count)));
      const throughVariance = mul(centered, alongChannels(along, x));
      return [added([add(straight, throughVariance), ...alone]), div(dot, deviation), sum];
    },
  },
};

function added(parts: readonly MaybeValue[]): MaybeValue {
  const delivered = parts.filter((part) => part !== undefined);
  return delivered.length === 0 ? undefined : delivered.reduce((sum, part) => add(sum, part));
}

function allButChannels({ shape }: Value): number[] {
  return [...shape.keys()].filter((axis) => axis !== 1);
}

function perChannel(shape: readonly number[], number: number): number[] {
  return Array<number>(shape[1]).fill(number);
}

function requireChannels(op: string, x: Value, perChannel: Record<string, Value>): void {
  const fits = (value: Value) => isFloat(value) && value.shape.length === 1 && value.shape[0] === x.shape[1];
  for (const [name, value] of Object.entries(perChannel)) {
    if (isFloat(x) && x.shape.length >= 2 && fits(value)) continue;
    throw new ShapeError(
      `${op}: expected float32[N,C,…] with float32[C] as ${name}, got ${describeType(x)} and ${describeType(value)}.`,
    );
  }
}
