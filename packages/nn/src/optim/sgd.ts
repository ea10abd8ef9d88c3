import { ArgumentError } from '../errors.ts';
import { add, mul, sub } from '../ops/elementwise.ts';
import { constant, input } from '../ops/source.ts';
import type { Parameter } from '../parameter.ts';
import { Optimizer, type UpdateInputs, type UpdateOutputs } from './optimizer.ts';

export interface SGDOptions {
  /** Learning rate; torch 1.13 requires it, later versions default to 0.001, as here. */
  lr?: number;
  /** Fraction of the velocity that is kept; 0 unless given. */
  momentum?: number;
  /** L2 penalty; 0 unless given. */
  weightDecay?: number;
  /** Looks one step ahead; needs momentum. False unless given. */
  nesterov?: boolean;
}

/** Stochastic gradient descent (torch.optim.SGD): v ← momentum·v + g, p ← p − lr·v. */
export class SGD extends Optimizer {
  /** May be changed between steps. */
  lr: number;
  readonly #momentum: number;
  readonly #weightDecay: number;
  readonly #nesterov: boolean;
  readonly #rate = new Float32Array(1);

  constructor(parameters: Iterable<Parameter>, options: SGDOptions = {}) {
    const { lr = 1e-3, momentum = 0, weightDecay = 0, nesterov = false } = options;
    for (const [name, value] of Object.entries({ lr, momentum, weightDecay })) {
      if (!(value >= 0)) throw new ArgumentError(`SGD: ${name} must be at least 0, given ${value}.`);
    }
    if (nesterov && momentum === 0) throw new ArgumentError('SGD: nesterov needs a momentum above 0.');
    super(parameters, momentum === 0 ? 0 : 1);
    this.lr = lr;
    this.#momentum = momentum;
    this.#weightDecay = weightDecay;
    this.#nesterov = nesterov;
  }

  protected override beforeStep(): void {
    this.#rate[0] = this.lr;
  }

  protected override update({ parameter, gradient, state }: UpdateInputs): UpdateOutputs {
    const rate = input('float32', [], { data: this.#rate });
    const decay = this.#weightDecay;
    const slope = decay === 0 ? gradient : add(gradient, mul(parameter, constant(decay)));
    if (state.length === 0) return { parameter: sub(parameter, mul(slope, rate)), state: [] };
    const faster = add(mul(state[0], constant(this.#momentum)), slope);
    const direction = this.#nesterov ? add(slope, mul(faster, constant(this.#momentum))) : faster;
    return { parameter: sub(parameter, mul(direction, rate)), state: [faster] };
  }
}
