import { ArgumentError } from '../errors/errors.ts';
import { describeValue } from '../checks/describe-value.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module.ts';

/** A module whose forward maps one tensor to one tensor. */
export type Layer = Module & {
  /** Computes the output. */
  forward(input: Tensor): Tensor;
};

/**
 * Runs modules in sequence (torch.nn.Sequential). Its layers are the properties '0', '1', …, so parameters are
 * named `0.weight`, as in torch.
 */
export class Sequential extends Module {
  readonly [position: number]: Layer;
  /** Number of modules. */
  readonly length: number;

  constructor(...layers: readonly Layer[]) {
    super();
    this.length = layers.length;
    const wrong = layers.findIndex((layer) => !(layer instanceof Module) || !('forward' in layer));
    if (wrong !== -1) {
      throw new ArgumentError(
        `Sequential: expected Modules with a forward method, got ${describeValue(layers[wrong])} at index ${wrong}.`,
      );
    }
    Object.assign(this, layers);
  }

  /** Passes the input through all modules in order; returns the output of the last one. */
  forward(input: Tensor): Tensor {
    return [...this].reduce((x, layer) => layer.forward(x), input);
  }

  /** Yields the modules in order. */
  *[Symbol.iterator](): Generator<Layer> {
    for (let position = 0; position < this.length; position += 1) yield this[position];
  }
}
