import { ArgumentError } from '../errors.ts';
import type { Tensor } from '../tensor.ts';
import { Module } from './module.ts';

/** A module of one tensor, as most are. */
export type Layer = Module & { forward(input: Tensor): Tensor };

/**
 * Modules one after the other (torch.nn.Sequential). Its parts are its properties '0', '1', …, so a parameter of the first is named
 * `0.weight`, as in torch.
 */
export class Sequential extends Module {
  readonly [position: number]: Layer;
  readonly length: number;

  constructor(...layers: readonly Layer[]) {
    super();
    this.length = layers.length;
    const wrong = layers.findIndex((layer) => !(layer instanceof Module) || !('forward' in layer));
    if (wrong !== -1) {
      throw new ArgumentError(
        `Sequential: part ${wrong} is not a Module with a forward of one tensor, which each must be.`,
      );
    }
    Object.assign(this, layers);
  }

  forward(input: Tensor): Tensor {
    return [...this].reduce((x, layer) => layer.forward(x), input);
  }

  *[Symbol.iterator](): Generator<Layer> {
    for (let position = 0; position < this.length; position += 1) yield this[position];
  }
}
