import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import type { Value } from '../graph/node.ts';
import { add, div, max, mul, sqrt, sub } from '../ops/elementwise.ts';
import { Optimizer } from './optimizer.ts';
import { completeSettings, type OptimizerParameters } from './param-groups.ts';
import { requireAtLeastZero, requireBelowOne } from '../checks/require-number.ts';
import type { Rule, UpdateInputs, UpdateOutputs, UpdateProgress } from './rule.ts';

/** Settings of a parameter group of {@link Adam} or {@link AdamW}. */
export interface AdamSettings {
  /** Learning rate. Default: 1e-3. */
  lr: number;
  /** Decay of the running averages of g and g². Default: [0.9, 0.999]. */
  betas: readonly [first: number, second: number];
  /** Added to the denominator for numerical stability. Default: 1e-8. */
  eps: number;
  /** Adam: L2 penalty (default: 0). AdamW: decoupled weight decay, as a fraction of lr (default: 0.01). */
  weightDecay: number;
  /** If true, uses the AMSGrad variant, which divides by the largest average of g² so far. Default: false. */
  amsgrad: boolean;
}

/** Options of {@link Adam} and {@link AdamW}: defaults of their groups' settings. */
export type AdamOptions = Partial<AdamSettings>;

/**
 * Adam (torch.optim.Adam): m ← β₁·m + (1 − β₁)·g, v ← β₂·v + (1 − β₂)·g², and, with bias correction,
 * p ← p − lr/(1 − β₁ᵗ) · m / (√v/√(1 − β₂ᵗ) + eps). t counts the updates of each parameter separately.
 */
export class Adam extends Optimizer<AdamSettings> {
  constructor(
    ...given: Call<
      [params: OptimizerParameters<AdamSettings>, options?: AdamOptions | undefined],
      'optim.Adam'
    >
  ) {
    const [parameters, options] = arranged('optim.Adam', given);
    super(adam, parameters, completeSettings('Adam', defaults, options));
  }
}

/** Adam with decoupled weight decay of lr · weightDecay per step (torch.optim.AdamW). */
export class AdamW extends Optimizer<AdamSettings> {
  constructor(
    ...given: Call<
      [params: OptimizerParameters<AdamSettings>, options?: AdamOptions | undefined],
      'optim.AdamW'
    >
  ) {
    const [parameters, options] = arranged('optim.AdamW', given);
    super(adamW, parameters, completeSettings('AdamW', { ...defaults, weightDecay: 1e-2 }, options));
  }
}

const defaults: AdamSettings = { lr: 1e-3, betas: [0.9, 0.999], eps: 1e-8, weightDecay: 0, amsgrad: false };

type Coefficients = Readonly<{
  decay: number | undefined;
  shrink: number | undefined;
  keepFirst: number;
  gainFirst: number;
  keepSecond: number;
  gainSecond: number;
  root: number;
  eps: number;
  rate: number;
}>;

type State = Readonly<{ expAvg: Value; expAvgSq: Value; maxExpAvgSq: Value | undefined }>;

const adam = ruleOf('Adam', ({ weightDecay }) => ({
  decay: weightDecay === 0 ? undefined : weightDecay,
  shrink: undefined,
}));

const adamW = ruleOf('AdamW', ({ lr, weightDecay }) => ({
  decay: undefined,
  shrink: weightDecay === 0 ? undefined : 1 - lr * weightDecay,
}));

function ruleOf(
  name: string,
  weightDecay: (settings: AdamSettings) => Pick<Coefficients, 'decay' | 'shrink'>,
): Rule<AdamSettings, Coefficients, State> {
  return {
    name,
    check({ lr, betas, eps, weightDecay }) {
      requireAtLeastZero(name, { lr, eps, weightDecay });
      requireBelowOne(name, { 'betas[0]': betas[0], 'betas[1]': betas[1] });
    },
    stateNames: ({ amsgrad }) => ['expAvg', 'expAvgSq', ...(amsgrad ? (['maxExpAvgSq'] as const) : [])],
    coefficients: (settings, progress) => ({ ...weightDecay(settings), ...averages(settings, progress) }),
    update,
  };
}

function averages({ lr, betas: [first, second], eps }: AdamSettings, { step }: UpdateProgress) {
  return {
    keepFirst: first,
    gainFirst: 1 - first,
    keepSecond: second,
    gainSecond: 1 - second,
    root: Math.sqrt(1 - second ** step),
    eps,
    rate: lr / (1 - first ** step),
  };
}

function update({
  parameter,
  gradient,
  state,
  coefficients,
}: UpdateInputs<Coefficients, State>): UpdateOutputs<State> {
  const { decay, shrink, keepFirst, gainFirst, keepSecond, gainSecond, root, eps, rate } = coefficients;
  const slope = decay === undefined ? gradient : add(gradient, mul(parameter, decay));
  const start = shrink === undefined ? parameter : mul(parameter, shrink);
  const expAvg = add(mul(state.expAvg, keepFirst), mul(slope, gainFirst));
  const expAvgSq = add(mul(state.expAvgSq, keepSecond), mul(mul(slope, gainSecond), slope));
  const maxExpAvgSq = state.maxExpAvgSq && max(state.maxExpAvgSq, expAvgSq);
  const denominator = add(div(sqrt(maxExpAvgSq ?? expAvgSq), root), eps);
  return {
    parameter: sub(start, div(mul(expAvg, rate), denominator)),
    state: { expAvg, expAvgSq, maxExpAvgSq },
  };
}
