import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import type { Value } from '../graph/node.ts';
import { add, div, mul, sqrt, sub } from '../ops/elementwise.ts';
import { Optimizer } from './optimizer.ts';
import { completeSettings, type OptimizerParameters } from './param-groups.ts';
import { requireAtLeastZero, requireBelowOne } from '../checks/require-number.ts';
import type { Rule } from './rule.ts';

/** Settings of a parameter group of {@link RAdam}. */
export interface RAdamSettings {
  /** Learning rate. Default: 1e-3. */
  lr: number;
  /** Decay of the running averages of g and g². Default: [0.9, 0.999]. */
  betas: readonly [first: number, second: number];
  /** Added to the denominator for numerical stability. Default: 1e-8. */
  eps: number;
  /** L2 penalty. Default: 0. */
  weightDecay: number;
}

/** Options of {@link RAdam}: defaults of its groups' settings. */
export type RAdamOptions = Partial<RAdamSettings>;

/**
 * Rectified Adam (torch.optim.RAdam; Liu et al., 2019): the first updates, while the average of g² has too few terms, are
 * those of SGD with momentum; later ones are those of Adam, times a factor that grows to 1.
 */
export class RAdam extends Optimizer<RAdamSettings> {
  constructor(
    ...given: Call<
      [params: OptimizerParameters<RAdamSettings>, options?: RAdamOptions | undefined],
      'optim.RAdam'
    >
  ) {
    const [parameters, options] = arranged('optim.RAdam', given);
    super(rule, parameters, completeSettings('RAdam', defaults, options));
  }
}

const defaults: RAdamSettings = { lr: 1e-3, betas: [0.9, 0.999], eps: 1e-8, weightDecay: 0 };

type Coefficients = Readonly<{
  decay: number | undefined;
  keepFirst: number;
  gainFirst: number;
  keepSecond: number;
  gainSecond: number;
  rate: number;
  /** Undefined while the update is not adaptive. */
  eps: number | undefined;
}>;

type State = Readonly<{ expAvg: Value; expAvgSq: Value }>;

const rule: Rule<RAdamSettings, Coefficients, State> = {
  name: 'RAdam',

  check({ lr, betas, eps, weightDecay }) {
    requireAtLeastZero('RAdam', { lr, eps, weightDecay });
    requireBelowOne('RAdam', { 'betas[0]': betas[0], 'betas[1]': betas[1] });
  },

  stateNames: () => ['expAvg', 'expAvgSq'],

  coefficients({ lr, betas: [first, second], eps, weightDecay }, { step }) {
    const rectification = rectificationAt(step, second);
    const adaptation = rectification === undefined ? 1 : Math.sqrt(1 - second ** step) * rectification;
    return {
      decay: weightDecay === 0 ? undefined : weightDecay,
      keepFirst: first,
      gainFirst: 1 - first,
      keepSecond: second,
      gainSecond: 1 - second,
      rate: (lr / (1 - first ** step)) * adaptation,
      eps: rectification === undefined ? undefined : eps,
    };
  },

  update({ parameter, gradient, state, coefficients }) {
    const { decay, keepFirst, gainFirst, keepSecond, gainSecond, rate, eps } = coefficients;
    const slope = decay === undefined ? gradient : add(gradient, mul(parameter, decay));
    const expAvg = add(mul(state.expAvg, keepFirst), mul(slope, gainFirst));
    const expAvgSq = add(mul(state.expAvgSq, keepSecond), mul(mul(slope, gainSecond), slope));
    const direction = mul(expAvg, rate);
    return {
      parameter: sub(parameter, eps === undefined ? direction : div(direction, add(sqrt(expAvgSq), eps))),
      state: { expAvg, expAvgSq },
    };
  },
};

/** Undefined while the variance of the adaptive rate is intractable: the average of g² has at most 5 degrees of freedom. */
function rectificationAt(step: number, second: number): number | undefined {
  const most = 2 / (1 - second) - 1;
  const now = most - (2 * step * second ** step) / (1 - second ** step);
  if (now <= 5) return undefined;
  return Math.sqrt(((now - 4) * (now - 2) * most) / ((most - 4) * (most - 2) * now));
}
