import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import type { Value } from '../graph/node.ts';
import { add, div, mul, sqrt, sub } from '../ops/elementwise.ts';
import { Optimizer } from './optimizer.ts';
import { completeSettings, type OptimizerParameters } from './param-groups.ts';
import { requireAtLeastZero } from '../checks/require-number.ts';
import type { Rule } from './rule.ts';

/** Settings of a parameter group of {@link RMSprop}. */
export interface RMSpropSettings {
  /** Learning rate. Default: 0.01. */
  lr: number;
  /** Decay of the running average of g². Default: 0.99. */
  alpha: number;
  /** Added to the denominator for numerical stability. Default: 1e-8. */
  eps: number;
  /** L2 penalty. Default: 0. */
  weightDecay: number;
  /** Momentum factor. Default: 0. */
  momentum: number;
  /** If true, divides by the standard deviation of g (centered RMSprop) instead of its root mean square. Default: false. */
  centered: boolean;
}

/** Options of {@link RMSprop}: defaults of its groups' settings. */
export type RMSpropOptions = Partial<RMSpropSettings>;

/** RMSprop (torch.optim.RMSprop): v ← α·v + (1 − α)·g², p ← p − lr·g / (√v + eps). */
export class RMSprop extends Optimizer<RMSpropSettings> {
  constructor(
    ...given: Call<
      [params: OptimizerParameters<RMSpropSettings>, options?: RMSpropOptions | undefined],
      'optim.RMSprop'
    >
  ) {
    const [parameters, options] = arranged('optim.RMSprop', given);
    super(rule, parameters, completeSettings('RMSprop', defaults, options));
  }
}

const defaults: RMSpropSettings = {
  lr: 1e-2,
  alpha: 0.99,
  eps: 1e-8,
  weightDecay: 0,
  momentum: 0,
  centered: false,
};

type Coefficients = Readonly<{
  rate: number;
  decay: number | undefined;
  keepAverage: number;
  gainAverage: number;
  eps: number;
  keep: number | undefined;
}>;

type State = Readonly<{
  squareAvg: Value;
  gradAvg: Value | undefined;
  momentumBuffer: Value | undefined;
}>;

const rule: Rule<RMSpropSettings, Coefficients, State> = {
  name: 'RMSprop',

  check({ lr, alpha, eps, weightDecay, momentum }) {
    requireAtLeastZero('RMSprop', { lr, alpha, eps, weightDecay, momentum });
  },

  stateNames: ({ momentum, centered }) => [
    'squareAvg',
    ...(centered ? (['gradAvg'] as const) : []),
    ...(momentum === 0 ? [] : (['momentumBuffer'] as const)),
  ],

  coefficients: ({ lr, alpha, eps, weightDecay, momentum }) => ({
    rate: lr,
    decay: weightDecay === 0 ? undefined : weightDecay,
    keepAverage: alpha,
    gainAverage: 1 - alpha,
    eps,
    keep: momentum === 0 ? undefined : momentum,
  }),

  update({ parameter, gradient, state, coefficients: { rate, decay, keepAverage, gainAverage, eps, keep } }) {
    const slope = decay === undefined ? gradient : add(gradient, mul(parameter, decay));
    const squareAvg = add(mul(state.squareAvg, keepAverage), mul(mul(slope, gainAverage), slope));
    const gradAvg = state.gradAvg && add(mul(state.gradAvg, keepAverage), mul(slope, gainAverage));
    const variance = gradAvg === undefined ? squareAvg : sub(squareAvg, mul(gradAvg, gradAvg));
    const denominator = add(sqrt(variance), eps);
    const momentumBuffer =
      state.momentumBuffer && add(mul(state.momentumBuffer, keep!), div(slope, denominator));
    const change =
      momentumBuffer === undefined ? div(mul(slope, rate), denominator) : mul(momentumBuffer, rate);
    return { parameter: sub(parameter, change), state: { squareAvg, gradAvg, momentumBuffer } };
  },
};
