import { describe, expect, test } from 'vitest';
import type { OpName } from '../../src/graph/operators.ts';
import { checkSecondDerivatives, type Differentiable } from '../support/check-gradients.ts';
import { arrayCases } from '../support/gradient-cases/arrays.ts';
import { attentionCases } from '../support/gradient-cases/attention.ts';
import { convolutionCases } from '../support/gradient-cases/convolution.ts';
import { elementwiseCases } from '../support/gradient-cases/elementwise.ts';
import { layerCases } from '../support/gradient-cases/layers.ts';

// The gradients of the gradients of operators, against central differences in double precision: those of operators with gradient
// operators of their own, one case each; with RINGRUN_TESTS=full, all cases of all operators.

const isFull = process.env['RINGRUN_TESTS'] === 'full';

const cases: Partial<Record<OpName, Record<string, Differentiable>>> = {
  ...elementwiseCases,
  ...arrayCases,
  ...layerCases,
  ...attentionCases,
  ...convolutionCases,
};

/** Operators whose second derivatives are not those of other operators' rules alone. */
const own: readonly OpName[] = [
  'AddDependency',
  'AddSlope',
  'Attention',
  'BatchNormalize',
  'Checkpoint',
  'Conv',
  'CustomFunction',
  'EmbeddingBag',
  'Gather',
  'Gelu',
  'LayerNormalize',
  'MaxPool',
  'Normalize',
  'Recurrence',
  'SoftmaxCrossEntropy',
];

/** Its gradient array has none, in torch neither: see autograd/errors.test.ts. */
const withoutSecond: readonly string[] = ['CtcLoss'];
/** Only in compiled programs, in which no gradient of a gradient is taken. */
const compiled: readonly string[] = [
  'ToomCookConvolve',
  'ToomCookConvolve2d',
  'MaxPoolActivate',
  'BatchNormalizeActivate',
];

describe('second derivatives against central differences in double precision', () => {
  const tested = Object.entries(cases).filter(
    ([op]) => !withoutSecond.includes(op) && !compiled.includes(op),
  );
  for (const [op, byName] of isFull ? tested : tested.filter(([name]) => own.includes(name as OpName))) {
    test.each(Object.entries(byName).slice(0, isFull ? undefined : 1))(
      `${op}: %s`,
      async (_, differentiable) => {
        const depends = await checkSecondDerivatives(differentiable);
        // Only linear operators have constant gradients.
        if (own.includes(op as OpName) && !linear.includes(op)) expect(depends).toBe(true);
      },
    );
  }
});

const linear: readonly string[] = ['Checkpoint', 'Gather', 'MaxPool'];
