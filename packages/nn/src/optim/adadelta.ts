import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import type { Value } from '../graph/node.ts';
import { add, div, mul, sqrt, sub } from '../ops/elementwise.ts';
import { Optimizer } from './optimizer.ts';
import { completeSettings, type OptimizerParameters } from './param-groups.ts';
import { requireAtLeastZero, requireFraction } from '../checks/require-number.ts';
import type { Rule } from './rule.ts';

/** Settings of a parameter group of {@link Adadelta}. */
export interface AdadeltaSettings {
  /** Factor of the update (learning rate). Default: 1. */
  lr: number;
  /** Decay of the running averages. Default: 0.9. */
  rho: number;
  /** Added under both roots for numerical stability. Default: 1e-6. */
  eps: number;
  /** L2 penalty. Default: 0. */
  weightDecay: number;
}

/** Options of {@link Adadelta}: defaults of its groups' settings. */
export type AdadeltaOptions = Partial<AdadeltaSettings>;

/** Adadelta (torch.optim.Adadelta): v ← ρ·v + (1 − ρ)·g², Δ = g·√(u + eps)/√(v + eps), u ← ρ·u + (1 − ρ)·Δ², p ← p − lr·Δ. */
export class Adadelta extends Optimizer<AdadeltaSettings> {
  constructor(
    ...given: Call<
      [params: OptimizerParameters<AdadeltaSettings>, options?: AdadeltaOptions | undefined],
      'optim.Adadelta'
    >
  ) {
    const [parameters, options] = arranged('optim.Adadelta', given);
    super(rule, parameters, completeSettings('Adadelta', defaults, options));
  }
}

const defaults: AdadeltaSettings = { lr: 1, rho: 0.9, eps: 1e-6, weightDecay: 0 };

type Coefficients = Readonly<{
  rate: number;
  decay: number | undefined;
  keep: number;
  gain: number;
  eps: number;
}>;

type State = Readonly<{ squareAvg: Value; accDelta: Value }>;

const rule: Rule<AdadeltaSettings, Coefficients, State> = {
  name: 'Adadelta',

  check({ lr, rho, eps, weightDecay }) {
    requireAtLeastZero('Adadelta', { lr, eps, weightDecay });
    requireFraction('Adadelta', { rho });
  },

  stateNames: () => ['squareAvg', 'accDelta'],

  coefficients: ({ lr, rho, eps, weightDecay }) => ({
    rate: lr,
    decay: weightDecay === 0 ? undefined : weightDecay,
    keep: rho,
    gain: 1 - rho,
    eps,
  }),

  update({ parameter, gradient, state, coefficients: { rate, decay, keep, gain, eps } }) {
    const slope = decay === undefined ? gradient : add(gradient, mul(parameter, decay));
    const squareAvg = add(mul(state.squareAvg, keep), mul(mul(slope, gain), slope));
    const delta = mul(div(sqrt(add(state.accDelta, eps)), sqrt(add(squareAvg, eps))), slope);
    const accDelta = add(mul(state.accDelta, keep), mul(mul(delta, gain), delta));
    return { parameter: sub(parameter, mul(delta, rate)), state: { squareAvg, accDelta } };
  },
};
