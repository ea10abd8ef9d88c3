import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { ArgumentError } from '../errors/errors.ts';
import type { Value } from '../graph/node.ts';
import { add, mul, sub } from '../ops/elementwise.ts';
import { sign } from '../ops/functions.ts';
import { Optimizer } from './optimizer.ts';
import { completeSettings, type OptimizerParameters } from './param-groups.ts';
import { requireAtLeastZero, requireBelowOne } from '../checks/require-number.ts';
import type { Rule } from './rule.ts';

/** Settings of a parameter group of {@link Lion}. */
export interface LionSettings {
  /** Learning rate, the magnitude of every change. Default: 1e-4. */
  lr: number;
  /** β₁ of the direction and β₂ of the momentum, which is above 0. Default: [0.9, 0.99]. */
  betas: readonly [first: number, second: number];
  /** Decoupled weight decay, as a fraction of lr. Default: 0. */
  weightDecay: number;
}

/** Options of {@link Lion}: defaults of its groups' settings. */
export type LionOptions = Partial<LionSettings>;

/**
 * Lion (Chen et al., "Symbolic Discovery of Optimization Algorithms", 2023, algorithm 2):
 * p ← p − lr·(sign(β₁·m + (1 − β₁)·g) + λ·p), then m ← β₂·m + (1 − β₂)·g. Not part of torch.
 */
export class Lion extends Optimizer<LionSettings> {
  constructor(
    ...given: Call<
      [parameters: OptimizerParameters<LionSettings>, options?: LionOptions | undefined],
      'optim.Lion'
    >
  ) {
    const [parameters, options] = arranged('optim.Lion', given);
    super(rule, parameters, completeSettings('Lion', defaults, options));
  }
}

const defaults: LionSettings = { lr: 1e-4, betas: [0.9, 0.99], weightDecay: 0 };

type Coefficients = Readonly<{
  rate: number;
  shrink: number | undefined;
  keep: number;
  gain: number;
  ofMomentum: number;
  ofGradient: number;
}>;

type State = Readonly<{ expAvg: Value }>;

const rule: Rule<LionSettings, Coefficients, State> = {
  name: 'Lion',

  check({ lr, betas, weightDecay }) {
    requireAtLeastZero('Lion', { lr, weightDecay });
    requireBelowOne('Lion', { 'betas[0]': betas[0], 'betas[1]': betas[1] });
    if (betas[1] === 0) throw new ArgumentError('Lion: betas[1] must be above 0, got 0.');
  },

  stateNames: () => ['expAvg'],

  coefficients: ({ lr, betas: [first, second], weightDecay }) => ({
    rate: lr,
    shrink: weightDecay === 0 ? undefined : 1 - lr * weightDecay,
    keep: second,
    gain: 1 - second,
    // The direction is a function of the new momentum, because an in-place update may read the old one only once.
    ofMomentum: first / second,
    ofGradient: 1 - first - (first / second) * (1 - second),
  }),

  update({ parameter, gradient, state, coefficients }) {
    const { rate, shrink, keep, gain, ofMomentum, ofGradient } = coefficients;
    const expAvg = add(mul(state.expAvg, keep), mul(gradient, gain));
    const direction = sign(add(mul(expAvg, ofMomentum), mul(gradient, ofGradient)));
    const start = shrink === undefined ? parameter : mul(parameter, shrink);
    return { parameter: sub(start, mul(direction, rate)), state: { expAvg } };
  },
};
