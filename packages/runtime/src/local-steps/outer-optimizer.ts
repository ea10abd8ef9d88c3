import type { ElementRange } from '@ringrun/core';
import { loadNative } from '@ringrun/native';

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
  differences({ begin, end }: ElementRange, values: Float32Array): void {
    loadNative().subtractFrom(values, this.parameters.subarray(begin, end));
  }

  /** An outer step of a range (torch.optim.SGD.step). `gradient`: the mean of the ranks' differences. */
  step({ begin, end }: ElementRange, gradient: Float32Array): void {
    const { lr, momentum, nesterov } = this.#options;
    const velocities = momentum === 0 ? undefined : this.momentum.subarray(begin, end);
    const parameters = this.parameters.subarray(begin, end);
    loadNative().outerStep(parameters, velocities, gradient, lr, momentum, nesterov);
  }
}
