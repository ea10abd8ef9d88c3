import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { requireAtLeastZero, requireBelowOne } from '../checks/require-number.ts';
import { ArgumentError } from '../errors/errors.ts';
import type { Value } from '../graph/node.ts';
import { updateRows } from '../ops/own/update-rows.ts';
import { Optimizer } from './optimizer.ts';
import { completeSettings, type OptimizerParameters } from './param-groups.ts';
import type { Rule } from './rule.ts';

/** Settings of a parameter group of {@link SparseAdam}. */
export interface SparseAdamSettings {
  /** Learning rate. Default: 1e-3. */
  lr: number;
  /** Decay of the running averages of g and g². Default: [0.9, 0.999]. */
  betas: readonly [first: number, second: number];
  /** Added to the denominator for numerical stability. Default: 1e-8. */
  eps: number;
  /** If true, maximizes the loss. Default: false. */
  maximize: boolean;
}

/** Options of {@link SparseAdam}: defaults of its groups' settings. */
export type SparseAdamOptions = Partial<SparseAdamSettings>;

/**
 * Adam for sparse gradients (torch.optim.SparseAdam), such as those of `nn.Embedding` with `sparse: true`: the averages and the
 * parameter change only in the rows that have a gradient, so the average of a row does not decay in steps without it. t counts the
 * updates of the parameter: p ← p − lr·√(1 − β₂ᵗ)/(1 − β₁ᵗ) · m / (√v + eps).
 *
 * A dense gradient is an ArgumentError of `step`: give dense parameters to another optimizer, such as `optim.Adam`.
 */
export class SparseAdam extends Optimizer<SparseAdamSettings> {
  constructor(
    ...given: Call<
      [params: OptimizerParameters<SparseAdamSettings>, options?: SparseAdamOptions | undefined],
      'optim.SparseAdam'
    >
  ) {
    const [parameters, options] = arranged('optim.SparseAdam', given);
    super(rule, parameters, completeSettings('SparseAdam', defaults, options));
  }
}

const defaults: SparseAdamSettings = { lr: 1e-3, betas: [0.9, 0.999], eps: 1e-8, maximize: false };

type Coefficients = Readonly<{
  rate: number;
  gainFirst: number;
  gainSecond: number;
  eps: number;
  sign: number;
}>;

type State = Readonly<{ expAvg: Value; expAvgSq: Value }>;

const rule: Rule<SparseAdamSettings, Coefficients, State> = {
  name: 'SparseAdam',

  check({ lr, betas, eps }) {
    requireAtLeastZero('SparseAdam', { lr, eps });
    requireBelowOne('SparseAdam', { 'betas[0]': betas[0], 'betas[1]': betas[1] });
  },

  stateNames: () => ['expAvg', 'expAvgSq'],

  coefficients: ({ lr, betas: [first, second], eps, maximize }, { step }) => ({
    rate: (lr * Math.sqrt(1 - second ** step)) / (1 - first ** step),
    gainFirst: 1 - first,
    gainSecond: 1 - second,
    eps,
    sign: maximize ? -1 : 1,
  }),

  update() {
    throw new ArgumentError(
      'SparseAdam: expected sparse gradients, got a dense one. Use optim.Adam for dense parameters, or look the table up with sparse: true.',
    );
  },

  updateRows({ parameter, gradient, state, coefficients }) {
    const tables = [parameter, state.expAvg, state.expAvgSq];
    const { rate, gainFirst, gainSecond, eps, sign } = coefficients;
    const numbers = [rate, gainFirst, gainSecond, eps, sign];
    const [updated, expAvg, expAvgSq] = updateRows('AdamOfRows', tables, gradient, numbers);
    return { parameter: updated, state: { expAvg, expAvgSq } };
  },
};
