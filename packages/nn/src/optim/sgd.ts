import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { ArgumentError } from '../errors/errors.ts';
import type { Value } from '../graph/node.ts';
import { add, mul, sub } from '../ops/elementwise.ts';
import { denseRows } from '../ops/own/sparse-rows.ts';
import { updateRows } from '../ops/own/update-rows.ts';
import { Optimizer } from './optimizer.ts';
import { completeSettings, type OptimizerParameters } from './param-groups.ts';
import { requireAtLeastZero } from '../checks/require-number.ts';
import type { Rule } from './rule.ts';
import { noWeightDecay } from './sparse-update.ts';

/** Settings of a parameter group of {@link SGD}. */
export interface SGDSettings {
  /** Learning rate. Default: 1e-3, as in torch 2. */
  lr: number;
  /** Momentum factor. Default: 0. */
  momentum: number;
  /** Dampening of the gradient in the momentum, from the second step on. Default: 0. */
  dampening: number;
  /** L2 penalty. Default: 0. */
  weightDecay: number;
  /** Nesterov momentum; requires momentum above 0 and dampening 0. Default: false. */
  nesterov: boolean;
}

/** Options of {@link SGD}: defaults of its groups' settings. */
export type SGDOptions = Partial<SGDSettings>;

/**
 * Stochastic gradient descent (torch.optim.SGD): v ← momentum·v + (1 − dampening)·g, p ← p − lr·v; the first v is g. Of a table
 * with a sparse gradient it updates only the rows that have one; with momentum, all rows. It refuses a weight decay then.
 */
export class SGD extends Optimizer<SGDSettings> {
  constructor(
    ...given: Call<[params: OptimizerParameters<SGDSettings>, options?: SGDOptions | undefined], 'optim.SGD'>
  ) {
    const [parameters, options] = arranged('optim.SGD', given);
    super(rule, parameters, completeSettings('SGD', defaults, options));
  }
}

const defaults: SGDSettings = { lr: 1e-3, momentum: 0, dampening: 0, weightDecay: 0, nesterov: false };

type Coefficients = Readonly<{
  rate: number;
  decay: number | undefined;
  keep: number | undefined;
  gain: number | undefined;
  ahead: number | undefined;
}>;

type State = Readonly<{ momentumBuffer: Value | undefined }>;

const rule: Rule<SGDSettings, Coefficients, State> = {
  name: 'SGD',

  check({ lr, momentum, dampening, weightDecay, nesterov }) {
    requireAtLeastZero('SGD', { lr, momentum, weightDecay });
    if (!Number.isFinite(dampening))
      throw new ArgumentError(`SGD: dampening must be a number, got ${dampening}.`);
    if (nesterov && (momentum === 0 || dampening !== 0)) {
      throw new ArgumentError(
        `SGD: nesterov requires a momentum above 0 and a dampening of 0, got momentum ${momentum} and dampening ${dampening}.`,
      );
    }
  },

  stateNames: ({ momentum }) => (momentum === 0 ? [] : ['momentumBuffer']),

  coefficients: ({ lr, momentum, dampening, weightDecay, nesterov }, { isFresh }) => ({
    rate: lr,
    decay: weightDecay === 0 ? undefined : weightDecay,
    keep: momentum === 0 ? undefined : momentum,
    // The initial velocity is the undamped gradient.
    gain: momentum === 0 || dampening === 0 ? undefined : isFresh ? 1 : 1 - dampening,
    ahead: nesterov ? momentum : undefined,
  }),

  update({
    parameter,
    gradient,
    state: { momentumBuffer },
    coefficients: { rate, decay, keep, gain, ahead },
  }) {
    const slope = decay === undefined ? gradient : add(gradient, mul(parameter, decay));
    if (momentumBuffer === undefined) {
      return { parameter: sub(parameter, mul(slope, rate)), state: { momentumBuffer } };
    }
    const velocity = add(mul(momentumBuffer, keep!), gain === undefined ? slope : mul(slope, gain));
    const direction = ahead === undefined ? velocity : add(slope, mul(velocity, ahead));
    return { parameter: sub(parameter, mul(direction, rate)), state: { momentumBuffer: velocity } };
  },

  updateRows(inputs) {
    const { parameter, gradient, state, coefficients } = inputs;
    if (coefficients.decay !== undefined) throw noWeightDecay('SGD');
    if (state.momentumBuffer !== undefined) {
      // A velocity keeps moving the rows of earlier batches, so all are updated.
      return rule.update({ ...inputs, gradient: denseRows(gradient, parameter.shape) });
    }
    const [updated] = updateRows('SgdOfRows', [parameter], gradient, [coefficients.rate]);
    return { parameter: updated, state };
  },
};
