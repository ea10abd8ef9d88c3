import { describe, expect, test } from 'vitest';
import { exactMaxPool } from '../../src/executor/cpu/rewrites/exact-max-pool.ts';
import type { Value } from '../../src/graph/node.ts';
import type { CollectiveOp, OpName } from '../../src/graph/operators.ts';
import { topologicalOrder } from '../../src/graph/topology.ts';
import { noGradient, refuseGradient } from '../../src/ops/definition.ts';
import { floorDivide } from '../../src/ops/division.ts';
import { addDependency } from '../../src/ops/dependency.ts';
import * as elementwise from '../../src/ops/elementwise.ts';
import { ceil, floor, round, sign } from '../../src/ops/functions.ts';
import { operators } from '../../src/ops/index.ts';
import { oneHot } from '../../src/ops/indexing.ts';
import { maxPool } from '../../src/ops/pooling.ts';
import { argMax, argMin } from '../../src/ops/ordering.ts';
import { checkIndices } from '../../src/ops/own/check-indices.ts';
import { constant, constantTensor, input, number } from '../../src/ops/source.ts';
import { checkGradients, checkValues, type Differentiable } from '../support/check-gradients.ts';
import { fill } from '../support/fill.ts';

import { integers } from '../support/gradient-cases/build.ts';
import { arrayCases } from '../support/gradient-cases/arrays.ts';
import { attentionCases } from '../support/gradient-cases/attention.ts';
import { convolutionCases } from '../support/gradient-cases/convolution.ts';
import { elementwiseCases } from '../support/gradient-cases/elementwise.ts';
import { layerCases } from '../support/gradient-cases/layers.ts';

/** Operators of integers, and piecewise constant ones. */
const withoutGradient = [
  'Input',
  'Number',
  'Constant',
  'Identity',
  'Greater',
  'GreaterOrEqual',
  'Equal',
  'IsNaN',
  'Or',
  'And',
  'Not',
  'Floor',
  'Ceil',
  'Round',
  'ArgMax',
  'ArgMin',
  'ExactMaxPool',
  'Sign',
  'IntegerDiv',
  'Cast',
  'OneHot',
  'CheckIndices',
  'AllGather',
] as const;
/** These need ranks: test/sync-batch-norm.test.ts. */
const collective = ['AllReduce', 'CombineStatistics'] as const satisfies readonly CollectiveOp[];
/** Only in compiled programs: own/own-operators.test.ts. */
const own = [
  'GivenGradients',
  'Elementwise',
  'AddRows',
  'ClipNorm',
  'NormParts',
  'ClipNormOfParts',
  'MaxPoolGradient',
  'MaxPoolActivateGradient',
  'SoftmaxCrossEntropyGradient',
  'AttentionGradient',
  'GeluGradient',
  'AddLayerNormalize',
  'LayerNormalizeGradient',
  'MatrixProduct',
  'SumRows',
  'ConvWeightGradient',
  'BatchNormalizeSums',
  'BatchNormalizeActivateGradient',
  'RecurrenceGradient',
  'ToomCookWeightGradient',
  'ToomCookWeightGradient2d',
  'DirectConvolve',
  'DirectWeightGradient',
  'EmbeddingBagGradient',
  'BagPlaces',
  'SparseRows',
  'SparseRowValues',
  'DenseRows',
  'SgdOfRows',
  'AdagradOfRows',
  'AdamOfRows',
] as const satisfies readonly OpName[];
type WithGradient = Exclude<OpName, (typeof withoutGradient | typeof collective | typeof own)[number]>;

const cases: Record<WithGradient, Record<string, Differentiable>> = {
  ...elementwiseCases,
  ...arrayCases,
  ...layerCases,
  ...attentionCases,
  ...convolutionCases,
};

/** From numbers of about that size; if their sum is not finite, the maxima are found another way. */
function exactlyPooled(size: number): Value {
  const image = elementwise.mul(
    input('float32', [2, 1, 3, 4], { data: fill([2, 1, 3, 4], 1) }),
    constant(size),
  );
  const attributes = { kernelShape: [2, 3], strides: [1, 2], pads: [1, 1, 0, 1] } as const;
  const { outputs } = exactMaxPool(maxPool(elementwise.max(image, constant(size / 2)), attributes).node)![0]
    .node;
  return elementwise.add(
    elementwise.div(outputs[0], constant(size)),
    elementwise.cast(outputs[1], 'float32'),
  );
}

describe('values and gradients against central differences in double precision', () => {
  for (const [op, byName] of Object.entries(cases)) {
    test.each(Object.entries(byName))(`${op}: %s`, async (_, differentiable) => {
      const values = await checkGradients(differentiable);
      expect(topologicalOrder(values).map((node) => node.op)).toContain(op);
    });
  }
});

describe('values of operators without a gradient', () => {
  const x = input('float32', [2, 3], { data: fill([2, 3], 1) });
  const y = input('float32', [3], { data: fill([3], 2) });
  const equalElements = elementwise.mul(constantTensor([3], [1, 1, -1]), constantTensor([3], [1, -1, 1]));

  test.each<[(typeof withoutGradient)[number] | 'AddDependency', Value]>([
    ['Input', x],
    ['Number', elementwise.mul(x, number(0.1))],
    ['Constant', constantTensor([2, 2], [0.1, -2, 3e-20, 4e20])],
    ['Identity', elementwise.detach(x)],
    ['AddDependency', addDependency(y, constantTensor([1], [Infinity]))],
    ['AddDependency', addDependency(y, elementwise.log(constantTensor([1], [-1])))],
    ['Greater', elementwise.greater(x, y)],
    ['Greater', elementwise.greater(equalElements, constant(-1))],
    ['GreaterOrEqual', elementwise.greaterOrEqual(x, y)],
    ['GreaterOrEqual', elementwise.greaterOrEqual(equalElements, constant(-1))],
    ['Equal', elementwise.equal(equalElements, constant(-1))],
    ['Equal', elementwise.equal(integers(3, 1, 2), integers(3, 2, 2))],
    ['IsNaN', elementwise.isNaN(elementwise.log(elementwise.sub(x, y)))],
    ['Or', elementwise.or(elementwise.greater(x, y), elementwise.equal(equalElements, constant(-1)))],
    ...[1, 3e38].map((size): ['ExactMaxPool', Value] => ['ExactMaxPool', exactlyPooled(size)]),
    ['And', elementwise.and(elementwise.greater(x, y), elementwise.greater(constant(0), x))],
    ['Not', elementwise.not(elementwise.greater(x, y))],
    ['Floor', floor(elementwise.mul(x, constant(5)))],
    ['Ceil', ceil(elementwise.mul(x, constant(5)))],
    ['Round', round(elementwise.mul(x, constant(5)))],
    ['Round', round(constantTensor([6], [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5]))],
    ['ArgMax', argMax(x, 1)],
    ['ArgMax', argMax(equalElements, 0)],
    ['ArgMin', argMin(x, 0)],
    ['ArgMin', argMin(equalElements, 0)],
    ['IntegerDiv', floorDivide(integers(7, -7, 6), integers(3, 3, -4))],
    ['Sign', sign(elementwise.sub(x, y))],
    ['Sign', sign(constantTensor([3], [0, -0, 2]))],
    ['Cast', elementwise.cast(elementwise.greater(x, y), 'float32')],
    ['Cast', elementwise.cast(elementwise.mul(x, constant(10)), 'int64')],
    ['OneHot', oneHot(integers(2, 0, 3), 4, -0.25)],
    [
      'CheckIndices',
      checkIndices('at', 'positions', elementwise.cast(elementwise.mul(x, constant(3)), 'int64'), {
        least: -3,
        count: 4,
      }),
    ],
  ])('%s', async (op, value) => {
    expect(topologicalOrder([value]).map((node) => node.op)).toContain(op);
    await checkValues([value]);
  });
});

/** Gradients of bfloat16: test/tensor/bfloat16.test.ts and own/direct-convolve.test.ts. */
const ofBfloat16 = ['Cast', 'DirectConvolve'] as const;

/** Operators that compute gradients, whose own are tested in second-derivatives.test.ts, and the one of given gradients. */
const ofGradients = [
  'AddRows',
  'MaxPoolGradient',
  'SoftmaxCrossEntropyGradient',
  'AttentionGradient',
  'GeluGradient',
  'LayerNormalizeGradient',
  'ConvWeightGradient',
  'BatchNormalizeSums',
  'EmbeddingBagGradient',
  'GivenGradients',
] as const;

test('every operator of the table is tested in its category', () => {
  const tabled = Object.entries(operators).filter(
    ([, { gradient }]) => gradient !== noGradient && gradient !== refuseGradient,
  );
  expect([...Object.keys(cases), ...collective, ...ofBfloat16, ...ofGradients].sort()).toEqual(
    tabled.map(([op]) => op).sort(),
  );
  expect(Object.keys(operators).sort()).toEqual(
    [...Object.keys(cases), ...withoutGradient, ...collective, ...own].sort(),
  );
});
