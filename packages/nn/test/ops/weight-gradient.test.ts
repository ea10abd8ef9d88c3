import { describe, expect, test } from 'vitest';
import { evaluate } from '../../src/compiler/compile.ts';
import type { ConvAttributes } from '../../src/graph/attributes.ts';
import { topologicalOrder } from '../../src/graph/topology.ts';
import { conv } from '../../src/ops/convolution.ts';
import {
  sideBySide,
  swapped,
  unfolded,
  unfoldedGradient,
  weightGradient,
} from '../../src/ops/convolution-weight-gradient.ts';
import { mul } from '../../src/ops/elementwise.ts';
import { reduceSum } from '../../src/ops/reduction.ts';
import { input } from '../../src/ops/source.ts';
import { roundingOfSums } from '../support/check-gradients.ts';
import { fill } from '../support/fill.ts';
import { directionalDerivative, expectClose } from '../support/numeric.ts';
import { interpret } from '../support/reference.ts';
import '../support/one-thread.ts';

// Every formulation of the gradient, for each window that it supports.

interface Convolution extends ConvAttributes {
  readonly image: readonly number[];
  readonly weight: readonly number[];
}

const plain = { strides: [1, 1], pads: [0, 0, 0, 0], dilations: [1, 1], group: 1 } as const;

const convolutions: Record<string, Convolution> = {
  plain: { ...plain, image: [2, 3, 5, 6], weight: [4, 3, 3, 2] },
  '16 rows of the weight': { ...plain, image: [2, 6, 5, 6], weight: [3, 6, 3, 2] },
  'stride along x, padding, dilation': {
    image: [2, 8, 6, 9],
    weight: [3, 8, 2, 3],
    strides: [1, 2],
    pads: [1, 2, 0, 1],
    dilations: [3, 2],
    group: 1,
  },
  'stride along both': {
    ...plain,
    image: [2, 2, 9, 8],
    weight: [3, 2, 3, 3],
    strides: [3, 2],
    pads: [1, 0, 1, 0],
  },
  'columns that no window reaches': { ...plain, image: [1, 8, 4, 9], weight: [2, 8, 2, 2], strides: [1, 3] },
  'kernel of width 1': { ...plain, image: [2, 3, 5, 4], weight: [4, 3, 3, 1] },
  'kernel of width 1, padded and dilated': {
    ...plain,
    image: [3, 2, 6, 3],
    weight: [4, 2, 2, 1],
    pads: [2, 0, 1, 0],
    dilations: [3, 1],
  },
  '1×1': { ...plain, image: [2, 3, 4, 5], weight: [4, 3, 1, 1] },
  'groups, width 1': { ...plain, image: [2, 6, 5, 3], weight: [4, 3, 3, 1], group: 2 },
  'groups, few rows': { ...plain, image: [2, 6, 5, 4], weight: [9, 2, 2, 3], group: 3, strides: [2, 1] },
  'groups, many rows': { ...plain, image: [1, 16, 4, 4], weight: [4, 8, 2, 2], group: 2 },
};

function isNarrow({ weight, strides, pads }: Convolution): boolean {
  return weight[3] === 1 && strides.every((stride) => stride === 1) && pads[1] + pads[3] === 0;
}

const formulations = {
  'weightGradient (its own choice)': { formulate: weightGradient, fits: () => true },
  swapped: { formulate: swapped, fits: ({ group }: Convolution) => group === 1 },
  sideBySide: {
    formulate: sideBySide,
    fits: ({ group, strides }: Convolution) => group === 1 && strides[0] === 1,
  },
  unfolded: { formulate: unfolded, fits: isNarrow },
  unfoldedGradient: { formulate: unfoldedGradient, fits: isNarrow },
};

describe.each(Object.entries(formulations))('%s', (_, { formulate, fits }) => {
  const fitting = Object.entries(convolutions).filter(([, convolution]) => fits(convolution));
  test.each(fitting)('%s', async (_, { image, weight, ...attributes }) => {
    const data = fill(weight, 2);
    const large = input('float32', image, { data: fill(image, 1) });
    const kernel = input('float32', weight, { data });
    const result = conv(large, kernel, undefined, attributes);
    const small = input('float32', result.shape, { data: fill(result.shape, 3) });

    const gradient = formulate(large, small, weight, attributes);
    expect(gradient.shape).toEqual(weight);
    const [actual] = await evaluate([gradient]);

    const loss = reduceSum(mul(result, small));
    const lossAt = (point: Float64Array) => interpret([loss], new Map([[kernel, point]]))[0][0];
    const point = Float64Array.from(data);
    const expected = Array.from(data, (_, place) =>
      directionalDerivative(lossAt, point, (other) => Number(other === place)),
    );
    expectClose('weight gradient', actual, expected, roundingOfSums);
  });
});

test('the choice: unfolded for width 1, side by side from 16 rows on, a part per group', () => {
  const chosen = (name: string) => {
    const { image, weight, ...attributes } = convolutions[name];
    const large = input('float32', image, { data: fill(image, 1) });
    const kernel = input('float32', weight, { data: fill(weight, 2) });
    const small = conv(large, kernel, undefined, attributes);
    const nodes = topologicalOrder([weightGradient(large, small, weight, attributes)]);
    return new Set(nodes.filter((node) => node !== small.node).map(({ op }) => op));
  };
  expect(chosen('kernel of width 1')).toContain('MatMul');
  expect(chosen('groups, width 1')).toContain('MatMul');
  expect(chosen('16 rows of the weight')).toContain('Concat');
  expect(chosen('plain')).not.toContain('Concat');
  expect(chosen('groups, few rows')).toContain('Split');
});
