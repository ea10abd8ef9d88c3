import type { ElementRange } from '@ringrun/core';

/** Settings of the optimizer of a {@link DiLoCo}'s outer steps. Names and meaning are those of torch.optim.SGD. */
export interface OuterOptimizerOptions {
  /** Learning rate. Default: 0.7. */
  lr?: number;
  /** Momentum. Default: 0.9. */
  momentum?: number;
  /** Nesterov's momentum. Default: `true`. */
  nesterov?: boolean;
}

/** The parameters that all ranks have in common, and their optimizer: SGD on the mean difference of the ranks' parameters. */
export class OuterOptimizer {
  /** The parameters after the last outer step. The same bits on every rank. */
  readonly parameters: Float32Array;
  /** The same bits on every rank. */
  readonly momentum: Float32Array;
  readonly #options: Required<OuterOptimizerOptions>;

  constructor(parameters: Float32Array, options: Required<OuterOptimizerOptions>) {
    this.parameters = parameters;
    this.momentum = new Float32Array(options.momentum === 0 ? 0 : parameters.length);
    this.#options = options;
  }

  /** Replaces the local values of a range by the way that they went since the last outer step: before − now. */
  differences({ begin }: ElementRange, values: Float32Array): void {
    const { parameters } = this;
    for (let i = 0; i < values.length; i += 1) values[i] = parameters[begin + i] - values[i];
  }

  /** An outer step of a range (torch.optim.SGD.step). `gradient`: the mean of the ranks' differences. */
  step({ begin }: ElementRange, gradient: Float32Array): void {
    const { lr, momentum, nesterov } = this.#options;
    const { parameters, momentum: velocities } = this;
    if (momentum === 0) {
      for (let i = 0; i < gradient.length; i += 1) parameters[begin + i] -= lr * gradient[i];
      return;
    }
    for (let i = 0; i < gradient.length; i += 1) {
      const velocity = Math.fround(momentum * velocities[begin + i] + gradient[i]);
      velocities[begin + i] = velocity;
      parameters[begin + i] -= lr * (nesterov ? gradient[i] + momentum * velocity : velocity);
    }
  }
}
