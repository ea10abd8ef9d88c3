import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import type { Value } from '../graph/node.ts';
import { add, div, mul, sqrt, sub } from '../ops/elementwise.ts';
import { updateRows } from '../ops/own/update-rows.ts';
import { constant } from '../ops/source.ts';
import { Optimizer } from './optimizer.ts';
import { completeSettings, type OptimizerParameters } from './param-groups.ts';
import { requireAtLeastZero } from '../checks/require-number.ts';
import type { Rule } from './rule.ts';
import { noWeightDecay } from './sparse-update.ts';

/** Settings of a parameter group of {@link Adagrad}. */
export interface AdagradSettings {
  /** Learning rate. Default: 0.01. */
  lr: number;
  /** The rate of update t is lr / (1 + (t − 1)·lrDecay). Default: 0. */
  lrDecay: number;
  /** L2 penalty. Default: 0. */
  weightDecay: number;
  /** Initial sum of squares. Default: 0. */
  initialAccumulatorValue: number;
  /** Added to the denominator for numerical stability. Default: 1e-10. */
  eps: number;
}

/** Options of {@link Adagrad}: defaults of its groups' settings. */
export type AdagradOptions = Partial<AdagradSettings>;

/**
 * Adagrad (torch.optim.Adagrad): s ← s + g², p ← p − lr/(1 + (t − 1)·lrDecay) · g / (√s + eps). Of a table with a sparse
 * gradient it updates only the rows that have one, and refuses a weight decay.
 */
export class Adagrad extends Optimizer<AdagradSettings> {
  constructor(
    ...given: Call<
      [params: OptimizerParameters<AdagradSettings>, options?: AdagradOptions | undefined],
      'optim.Adagrad'
    >
  ) {
    const [parameters, options] = arranged('optim.Adagrad', given);
    super(rule, parameters, completeSettings('Adagrad', defaults, options));
  }
}

const defaults: AdagradSettings = {
  lr: 0.01,
  lrDecay: 0,
  weightDecay: 0,
  initialAccumulatorValue: 0,
  eps: 1e-10,
};

type Coefficients = Readonly<{
  rate: number;
  decay: number | undefined;
  start: number | undefined;
  eps: number;
}>;

type State = Readonly<{ sum: Value }>;

const rule: Rule<AdagradSettings, Coefficients, State> = {
  name: 'Adagrad',

  check({ lr, lrDecay, weightDecay, initialAccumulatorValue, eps }) {
    requireAtLeastZero('Adagrad', { lr, lrDecay, weightDecay, initialAccumulatorValue, eps });
  },

  stateNames: () => ['sum'],

  coefficients: ({ lr, lrDecay, weightDecay, initialAccumulatorValue, eps }, { step, isFresh }) => ({
    rate: lr / (1 + (step - 1) * lrDecay),
    decay: weightDecay === 0 ? undefined : weightDecay,
    start: initialAccumulatorValue === 0 ? undefined : isFresh ? initialAccumulatorValue : 0,
    eps,
  }),

  update({ parameter, gradient, state, coefficients: { rate, decay, start, eps } }) {
    const slope = decay === undefined ? gradient : add(gradient, mul(parameter, decay));
    const before = start === undefined ? state.sum : add(state.sum, start);
    const sum = add(before, mul(slope, slope));
    return { parameter: sub(parameter, div(mul(slope, rate), add(sqrt(sum), eps))), state: { sum } };
  },

  updateRows({ parameter, gradient, state, coefficients: { rate, decay, start, eps } }) {
    if (decay !== undefined) throw noWeightDecay('Adagrad');
    const numbers = [rate, eps, start ?? constant(0)];
    const [updated, sum] = updateRows('AdagradOfRows', [parameter, state.sum], gradient, numbers);
    return { parameter: updated, state: { sum } };
  },
};
