import { rewrite } from '../../src/compiler/rewrite.ts';
import { plainOperators } from '../../src/compiler/rewrites/plain-operators.ts';
import type { Scalar } from '../../src/dtype.ts';
import { isNode, type Node, type Value } from '../../src/graph/node.ts';
import { sizeOf } from '../../src/value-type.ts';
import type { CollectiveOp, OpName } from '../../src/graph/operators.ts';
import { topologicalOrder } from '../../src/graph/topology.ts';
import { dropoutMask } from '../../src/random/philox.ts';
import {
  sortedPlaces,
  forEachTap,
  biases,
  windowAt,
  maxPool,
  isInside,
  sumOver,
  reduceOver,
  erf,
  scattered,
  broadcast,
  element,
  offset,
  sum,
  tabulate,
  forEachIndex,
  channelOf,
  meansByChannel,
  type Reference,
} from './reference-arrays.ts';

/**
 * The operators by their definitions, in plain loops and double precision: the reference for compiled programs. Nothing
 * here uses the compiler except the graph itself and the shapes of its values, which onnxruntime infers and compares itself.
 */

/** Contents of the leaves. Default: those of their sources. */
export type Leaves = ReadonlyMap<Value, Float64Array>;

/** Computes values of a graph. */
export function interpret(outputs: readonly Value[], leaves: Leaves = new Map()): Float64Array[] {
  const results = new Map<Value, Reference>();
  const plain = rewrite(outputs, [plainOperators]);
  for (const node of topologicalOrder(plain)) {
    const leaf = leaves.get(node.outputs[0]) ?? elementsOf(node);
    const inputs = node.inputs.map((input) => results.get(input)!);
    const arrays = leaf ? [leaf] : ruleOf(node)(node, inputs);
    for (const [index, output] of node.outputs.entries()) {
      results.set(output, { shape: output.shape, data: arrays[index] });
    }
  }
  return plain.map((output) => results.get(output)!.data);
}

function elementsOf(node: Node): Float64Array | undefined {
  return isNode(node, 'Input') ? Float64Array.from(node.attributes.source.data, Number) : undefined;
}

/** Operators of the addon. Some are replaced by others before they are interpreted. */
type Own =
  | ('Elementwise' | 'AddRows' | 'ClipNorm' | 'NormParts' | 'ClipNormOfParts' | 'MaxPoolGradient')
  | ('SoftmaxCrossEntropy' | 'SoftmaxCrossEntropyGradient')
  | ('Recurrence' | 'RecurrenceGradient')
  | ('ToomCookConvolve' | 'ToomCookWeightGradient')
  | ('DirectConvolve' | 'DirectWeightGradient')
  | ('ToomCookConvolve2d' | 'ToomCookWeightGradient2d')
  | ('EmbeddingBag' | 'EmbeddingBagGradient' | 'BagPlaces')
  | ('SparseRows' | 'SparseRowValues' | 'DenseRows' | 'SgdOfRows' | 'AdagradOfRows' | 'AdamOfRows')
  | ('MatrixProduct' | 'SumRows' | 'ConvWeightGradient' | 'BatchNormalizeSums')
  | ('MaxPoolActivate' | 'MaxPoolActivateGradient')
  | ('BatchNormalizeActivate' | 'BatchNormalizeActivateGradient')
  | ('CheckIndices' | 'CheckProbabilities')
  | ('Attention' | 'AttentionGradient')
  | (
      | 'SafeSoftmax'
      | 'Gelu'
      | 'GeluGradient'
      | 'LayerNormalize'
      | 'AddLayerNormalize'
      | 'LayerNormalizeGradient'
    );
type Computed = Exclude<OpName, 'Input' | Own | CollectiveOp>;
type Rule<Op extends OpName> = (node: Node<Op>, inputs: readonly Reference[]) => readonly Float64Array[];

function ruleOf(node: Node): Rule<OpName> {
  return rules[node.op as Computed] as Rule<OpName>;
}

const rules: { readonly [Op in Computed]: Rule<Op> } = {
  Constant: ({ attributes: { values, dtype } }) => [
    Float64Array.from<Scalar>(values, dtype === 'int64' ? Number : (value) => Math.fround(Number(value))),
  ],
  Number: ({ attributes: { value }, outputs: [{ dtype }] }) => [
    Float64Array.of(dtype === 'int64' ? Number(value) : Math.fround(Number(value))),
  ],

  Identity: elementwise((a) => a),
  AddDependency: elementwise((a) => a),
  AddSlope: elementwise((a) => a),
  Checkpoint: elementwise((a) => a),
  Variable: elementwise((a) => a),
  CustomFunction: ({ outputs }, inputs) => inputs.slice(0, outputs.length).map(({ data }) => data),
  GivenGradients: elementwise((a) => a),
  Add: elementwise((a, b) => a + b),
  Sub: elementwise((a, b) => a - b),
  Mul: elementwise((a, b) => a * b),
  Div: elementwise((a, b) => a / b),
  Neg: elementwise((a) => -a),
  Exp: elementwise(Math.exp),
  Log: elementwise(Math.log),
  Sqrt: elementwise(Math.sqrt),
  Relu: (_, [{ data }]) => [data.map((a) => Math.max(a, 0)), data.map((a) => Number(a <= 0))],
  Pow: (node, inputs) => elementwise((a) => a ** node.attributes.exponent)(node, inputs),
  Power: elementwise((a, b) => a ** b),
  Abs: elementwise(Math.abs),
  Sign: elementwise((a) => Math.sign(a) || 0),
  Floor: elementwise(Math.floor),
  Ceil: elementwise(Math.ceil),
  Round: elementwise((a) => (a % 1 === 0.5 || a % 1 === -0.5 ? 2 * Math.round(a / 2) : Math.round(a))),
  Sin: elementwise(Math.sin),
  Cos: elementwise(Math.cos),
  Tan: elementwise(Math.tan),
  Asin: elementwise(Math.asin),
  Acos: elementwise(Math.acos),
  Atan: elementwise(Math.atan),
  Sinh: elementwise(Math.sinh),
  Cosh: elementwise(Math.cosh),
  Asinh: elementwise(Math.asinh),
  Acosh: elementwise(Math.acosh),
  Atanh: elementwise(Math.atanh),
  Mod: elementwise((a, b) => a % b),
  IntegerDiv: elementwise((a, b) => Math.trunc(a / b)),
  Erf: elementwise(erf),
  Tanh: elementwise(Math.tanh),
  Sigmoid: elementwise((a) => 1 / (1 + Math.exp(-a))),
  Softplus: elementwise((a) => Math.log1p(Math.exp(a))),
  LeakyRelu: (node, inputs) => elementwise((a) => (a > 0 ? a : node.attributes.alpha * a))(node, inputs),
  Max: elementwise(Math.max),
  Min: elementwise(Math.min),
  Greater: elementwise((a, b) => Number(a > b)),
  GreaterOrEqual: elementwise((a, b) => Number(a >= b)),
  Equal: elementwise((a, b) => Number(a === b)),
  IsNaN: elementwise((a) => Number(Number.isNaN(a))),
  Or: elementwise((a, b) => Number(a === 1 || b === 1)),
  And: elementwise((a, b) => Number(a === 1 && b === 1)),
  Not: elementwise((a) => Number(a === 0)),
  Where: elementwise((condition, a, b) => (condition === 1 ? a : b)),
  Cast: ({ attributes: { to } }, [x]) => [
    x.data.map((element) =>
      to === 'bool' ? Number(element !== 0) : to === 'int64' ? Math.trunc(element) : element,
    ),
  ],

  Reshape: (_, [x]) => [x.data],
  Transpose: ({ outputs: [y], attributes: { perm } }, [x]) => [
    tabulate(y.shape, (index) =>
      element(
        x,
        perm.map((_, axis) => index[perm.indexOf(axis)]),
      ),
    ),
  ],
  Concat: ({ outputs: [y], attributes: { axis } }, parts) => [
    tabulate(y.shape, (index) => {
      let start = 0;
      for (const part of parts) {
        if (index[axis] < start + part.shape[axis])
          return element(part, index.with(axis, index[axis] - start));
        start += part.shape[axis];
      }
      throw new Error('Concat: its output is longer than its inputs together.');
    }),
  ],
  Split: ({ outputs, attributes: { axis } }, [x]) =>
    outputs.map(({ shape, index: part }) =>
      tabulate(shape, (index) => element(x, index.with(axis, index[axis] + part * shape[axis]))),
    ),
  SwapOuterAxes: ({ outputs: [y] }, [x]) => [
    tabulate(y.shape, ([first, ...rest]) => element(x, [rest.at(-1)!, ...rest.slice(0, -1), first])),
  ],
  Slice: ({ outputs: [y], attributes: { axis, start } }, [x]) => [
    tabulate(y.shape, (index) => element(x, index.with(axis, index[axis] + start))),
  ],
  Flip: ({ attributes: { axis } }, [x]) => [
    tabulate(x.shape, (index) => element(x, index.with(axis, x.shape[axis] - 1 - index[axis]))),
  ],
  Pad: ({ outputs: [y], attributes: { before, value = 0 } }, [x]) => [
    tabulate(y.shape, (index) => {
      const place = index.map((position, axis) => position - before[axis]);
      return isInside(x.shape, place) ? element(x, place) : Number(value);
    }),
  ],
  Expand: ({ outputs: [y] }, [x]) => [broadcast(x, y.shape)],
  Trilu: ({ outputs: [y], attributes: { upper, k } }, [x]) => [
    tabulate(y.shape, (index) => {
      const above = index.at(-1)! - index.at(-2)! - k;
      return (upper ? above >= 0 : above <= 0) ? element(x, index) : 0;
    }),
  ],

  ReduceSum: ({ attributes: { axes } }, [x]) => [sumOver(x, axes)],
  ReduceMean: ({ attributes: { axes } }, [x]) => {
    const count = axes.reduce((product, axis) => product * x.shape[axis], 1);
    return [sumOver(x, axes).map((sum) => sum / count)];
  },
  ReduceMax: ({ attributes: { axes } }, [x]) => [reduceOver(x, axes, -Infinity, Math.max)],

  CumSum: ({ outputs: [y], attributes: { axis, reverse } }, [x]) => [
    tabulate(y.shape, (index) => {
      const place = index[axis];
      const count = reverse ? x.shape[axis] - place : place + 1;
      return sum(count, (k) => element(x, index.with(axis, reverse ? place + k : k)));
    }),
  ],
  ArgMax: ({ outputs: [y], attributes: { axis } }, [x]) => [
    tabulate(y.shape, (index) => sortedPlaces(x, index, axis, true)[0]),
  ],
  ArgMin: ({ outputs: [y], attributes: { axis } }, [x]) => [
    tabulate(y.shape, (index) => sortedPlaces(x, index, axis, false)[0]),
  ],
  TopK: ({ outputs: [y], attributes: { axis, largest } }, [x]) => {
    const places = tabulate(y.shape, (index) => sortedPlaces(x, index, axis, largest)[index[axis]]);
    const at = { shape: y.shape, data: places };
    return [tabulate(y.shape, (index) => element(x, index.with(axis, element(at, index)))), places];
  },

  Normalize: ({ outputs: [y], attributes: { axes, epsilon } }, [x]) => {
    const count = axes.reduce((product, axis) => product * x.shape[axis], 1);
    const kept = y.shape.map((size, axis) => (axes.includes(axis) ? 1 : size));
    const meanOf = (data: Float64Array) => sumOver({ shape: x.shape, data }, axes).map((sum) => sum / count);
    const spread = (data: Float64Array) => broadcast({ shape: kept, data }, x.shape);
    const mean = meanOf(x.data);
    const centered = x.data.map((element, place) => element - spread(mean)[place]);
    const variance = meanOf(centered.map((element) => element ** 2));
    const wide = spread(variance);
    return [centered.map((element, place) => element / Math.sqrt(wide[place] + epsilon)), mean, variance];
  },

  BatchNormalize: ({ attributes: { epsilon } }, [x, weight, bias]) => {
    const channels = x.shape[1];
    const elements = [...x.data].map((element, place) => ({ element, channel: channelOf(x, place) }));
    const mean = meansByChannel(channels, elements);
    const centered = elements.map(({ element, channel }) => ({ element: element - mean[channel], channel }));
    const squares = centered.map(({ element, channel }) => ({ element: element ** 2, channel }));
    const variance = meansByChannel(channels, squares);
    const normalized = centered.map(
      ({ element, channel }) =>
        (element / Math.sqrt(variance[channel] + epsilon)) * weight.data[channel] + bias.data[channel],
    );
    const results = [normalized, mean, variance, centered.map(({ element }) => element)];
    return results.map((numbers) => Float64Array.from(numbers));
  },
  Affine: (_, [x, scale, shift]) => [
    x.data.map((element, place) => {
      const channel = channelOf(x, place);
      return element * scale.data[channel] + shift.data[channel];
    }),
  ],

  Gemm: ({ outputs: [y], attributes: { transA, transB } }, [a, b, c]) => {
    const inner = a.shape[transA ? 0 : 1];
    const bias = c as Reference | undefined;
    return [
      tabulate(y.shape, ([row, column]) =>
        sum(
          inner,
          (k) => element(a, transA ? [k, row] : [row, k]) * element(b, transB ? [column, k] : [k, column]),
          bias?.data[column],
        ),
      ),
    ];
  },
  MatMul: ({ outputs: [y] }, [a, b]) => [
    tabulate(y.shape, (index) => {
      const [row, column] = index.slice(-2);
      const leading = index.slice(0, -2);
      const of = (matrix: Reference, ...place: number[]) =>
        element(matrix, [...leading.slice(index.length - matrix.shape.length), ...place]);
      return sum(a.shape.at(-1)!, (k) => of(a, row, k) * of(b, k, column));
    }),
  ],

  Conv: ({ outputs: [y], attributes }, [image, weight, bias]) => {
    const result = biases(y.shape, bias);
    forEachTap(image.shape, y.shape, weight.shape, attributes, (large, small, tap) => {
      result[small] += image.data[large] * weight.data[tap];
    });
    return [result];
  },
  ConvTranspose: ({ outputs: [y], attributes }, [image, weight, bias]) => {
    const result = biases(y.shape, bias);
    forEachTap(y.shape, image.shape, weight.shape, attributes, (large, small, tap) => {
      result[large] += image.data[small] * weight.data[tap];
    });
    return [result];
  },

  MaxPool: maxPool,
  ExactMaxPool: maxPool,
  AveragePool: ({ outputs: [y], attributes }, [x]) => [
    tabulate(y.shape, (index) => {
      const places = windowAt(index, attributes);
      const inside = places.filter((place) => isInside(x.shape, place));
      const total = inside.reduce((sum, place) => sum + element(x, place), 0);
      return total / (attributes.countIncludePad ? places : inside).length;
    }),
  ],
  MaxUnpool: ({ outputs: [y] }, [values, positions]) => [scattered(y.shape, positions, values)],
  IndexSelect: ({ outputs: [y], attributes: { axis, positions } }, [x]) => [
    tabulate(y.shape, (index) => element(x, index.with(axis, positions[index[axis]]))),
  ],
  Gather: ({ outputs: [y] }, [table, rows]) => [
    tabulate(y.shape, (index) => element(table, [element(rows, index.slice(0, -1)), index.at(-1)!])),
  ],
  GatherElements: ({ attributes: { axis } }, [data, positions]) => [
    tabulate(positions.shape, (index) => element(data, index.with(axis, element(positions, index)))),
  ],
  ScatterElements: ({ outputs: [y], attributes: { axis } }, [positions, updates]) => {
    const result = new Float64Array(sizeOf(y.shape));
    forEachIndex(updates.shape, (index) => {
      result[offset(y.shape, index.with(axis, element(positions, index)))] += element(updates, index);
    });
    return [result];
  },

  CtcLoss: ({ attributes: { blank, zeroInfinity } }, [x, targets, inputLengths, targetLengths]) => {
    const isPadded = targets.shape.length === 2;
    let start = 0;
    const losses = Array.from(inputLengths.data, (times, n) => {
      const length = targetLengths.data[n];
      const target = targets.data.slice(start, start + length);
      start += isPadded ? targets.shape[1] : length;
      // Sums of the probabilities of all paths, by their number of classes and their last class.
      let paths = new Map<string, { done: number; last: number; probability: number }>([
        ['', { done: 0, last: blank, probability: 1 }],
      ]);
      for (let t = 0; t < times; t += 1) {
        const next: typeof paths = new Map();
        for (const { done, last, probability } of paths.values()) {
          for (let c = 0; c < x.shape[2]; c += 1) {
            const isNew = c !== blank && c !== last;
            if (isNew && target.at(done) !== c) continue;
            if (isNew && done >= length) continue;
            const to = { done: done + Number(isNew), last: c };
            const before = next.get(`${to.done} ${c}`)?.probability ?? 0;
            const sum = before + probability * Math.exp(element(x, [t, n, c]));
            next.set(`${to.done} ${c}`, { ...to, probability: sum });
          }
        }
        paths = next;
      }
      const all = [...paths.values()].filter(({ done }) => done === length);
      const loss = -Math.log(all.reduce((sum, { probability }) => sum + probability, 0));
      return zeroInfinity && loss === Infinity ? 0 : loss;
    });
    return [Float64Array.from(losses)];
  },

  Dropout: (_, [x, { data: numbers }, { data: scale }]) => {
    const mask = dropoutMask(x.data.length, BigInt(numbers[0]), numbers[1], scale[0]);
    return [x.data.map((element, place) => element * mask[place])];
  },

  Scatter: ({ attributes: { axis } }, [x, positions, updates]) => {
    const result = { shape: x.shape, data: x.data.slice() };
    forEachIndex(positions.shape, (index) => {
      const place = offset(x.shape, index.with(axis, element(positions, index)));
      result.data[place] = element(updates, index);
    });
    return [result.data];
  },
  Softmax: ({ attributes: { axis } }, [x]) => {
    const exponentials = x.data.map(Math.exp);
    const total = sumOver({ shape: x.shape, data: exponentials }, [axis]);
    const kept = { shape: x.shape.with(axis, 1), data: total };
    return [broadcast(kept, x.shape).map((sumOfExp, place) => exponentials[place] / sumOfExp)];
  },
  LogSoftmax: ({ attributes: { axis } }, [x]) => {
    const total = sumOver({ shape: x.shape, data: x.data.map(Math.exp) }, [axis]);
    const kept = { shape: x.shape.with(axis, 1), data: total };
    return [broadcast(kept, x.shape).map((sumOfExp, place) => x.data[place] - Math.log(sumOfExp))];
  },
  NegativeLogLikelihoodLoss: ({ attributes: { ignoreIndex } }, [x, { data: classes }]) => {
    const [rows, depth] = x.shape;
    const places = classes.map((label) => (label === ignoreIndex ? depth : label));
    const count = places.filter((place) => place < depth).length;
    const total = sum(rows, (row) => (places[row] < depth ? element(x, [row, places[row]]) : 0));
    return [Float64Array.of(-total / count), places, Float64Array.of(1 / count)];
  },
  OneHot: ({ outputs: [y], attributes: { value } }, [classes]) => [
    tabulate(y.shape, ([row, column]) => (classes.data[row] === column ? Math.fround(value) : 0)),
  ],
};

function elementwise<Op extends Computed>(compute: (...elements: number[]) => number): Rule<Op> {
  return ({ outputs: [y] }, inputs) => {
    const operands = inputs.map((input) => broadcast(input, y.shape));
    return [operands[0].map((_, place) => compute(...operands.map((operand) => operand[place])))];
  };
}
