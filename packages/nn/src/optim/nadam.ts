import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import type { Value } from '../graph/node.ts';
import { add, div, mul, sqrt, sub } from '../ops/elementwise.ts';
import { Optimizer } from './optimizer.ts';
import { completeSettings, type OptimizerParameters } from './param-groups.ts';
import { requireAtLeastZero, requireBelowOne } from '../checks/require-number.ts';
import type { Rule } from './rule.ts';

/** Settings of a parameter group of {@link NAdam}. */
export interface NAdamSettings {
  /** Learning rate. Default: 2e-3. */
  lr: number;
  /** Decay of the running averages of g and g². Default: [0.9, 0.999]. */
  betas: readonly [first: number, second: number];
  /** Added to the denominator for numerical stability. Default: 1e-8. */
  eps: number;
  /** L2 penalty. Default: 0. */
  weightDecay: number;
  /** The momentum of update t is β₁·(1 − 0.96^(t·momentumDecay) / 2). Default: 0.004. */
  momentumDecay: number;
}

/** Options of {@link NAdam}: defaults of its groups' settings. */
export type NAdamOptions = Partial<NAdamSettings>;

/**
 * Adam with Nesterov momentum (torch.optim.NAdam; Dozat, 2016). The product of momenta, a state in torch, is computed from
 * the number of updates with the current settings.
 */
export class NAdam extends Optimizer<NAdamSettings> {
  constructor(
    ...given: Call<
      [params: OptimizerParameters<NAdamSettings>, options?: NAdamOptions | undefined],
      'optim.NAdam'
    >
  ) {
    const [parameters, options] = arranged('optim.NAdam', given);
    super(rule, parameters, completeSettings('NAdam', defaults, options));
  }
}

const defaults: NAdamSettings = {
  lr: 2e-3,
  betas: [0.9, 0.999],
  eps: 1e-8,
  weightDecay: 0,
  momentumDecay: 4e-3,
};

type Coefficients = Readonly<{
  decay: number | undefined;
  keepFirst: number;
  gainFirst: number;
  keepSecond: number;
  gainSecond: number;
  root: number;
  eps: number;
  ofGradient: number;
  ofAverage: number;
}>;

type State = Readonly<{ expAvg: Value; expAvgSq: Value }>;

const rule: Rule<NAdamSettings, Coefficients, State> = {
  name: 'NAdam',

  check({ lr, betas, eps, weightDecay, momentumDecay }) {
    requireAtLeastZero('NAdam', { lr, eps, weightDecay, momentumDecay });
    requireBelowOne('NAdam', { 'betas[0]': betas[0], 'betas[1]': betas[1] });
  },

  stateNames: () => ['expAvg', 'expAvgSq'],

  coefficients({ lr, betas: [first, second], eps, weightDecay, momentumDecay }, { step }) {
    const momentum = (t: number) => momentumAt(t, first, momentumDecay);
    const product = productOfMomenta(step, first, momentumDecay);
    return {
      decay: weightDecay === 0 ? undefined : weightDecay,
      keepFirst: first,
      gainFirst: 1 - first,
      keepSecond: second,
      gainSecond: 1 - second,
      root: Math.sqrt(1 - second ** step),
      eps,
      ofGradient: (lr * (1 - momentum(step))) / (1 - product),
      ofAverage: (lr * momentum(step + 1)) / (1 - product * momentum(step + 1)),
    };
  },

  update({ parameter, gradient, state, coefficients }) {
    const { decay, keepFirst, gainFirst, keepSecond, gainSecond, root, eps, ofGradient, ofAverage } =
      coefficients;
    const slope = decay === undefined ? gradient : add(gradient, mul(parameter, decay));
    const expAvg = add(mul(state.expAvg, keepFirst), mul(slope, gainFirst));
    const expAvgSq = add(mul(state.expAvgSq, keepSecond), mul(mul(slope, gainSecond), slope));
    const direction = add(mul(slope, ofGradient), mul(expAvg, ofAverage));
    const denominator = add(div(sqrt(expAvgSq), root), eps);
    return { parameter: sub(parameter, div(direction, denominator)), state: { expAvg, expAvgSq } };
  },
};

function momentumAt(step: number, first: number, momentumDecay: number): number {
  return first * (1 - 0.5 * 0.96 ** (step * momentumDecay));
}

function productOfMomenta(steps: number, first: number, momentumDecay: number): number {
  let product = 1;
  // Additional factors no longer change the difference from 1.
  for (let step = 1; step <= steps && product > 1e-30; step += 1) {
    product *= momentumAt(step, first, momentumDecay);
  }
  return product;
}
