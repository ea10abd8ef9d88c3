import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { Module } from './module.ts';
import { inplaceOf, writeArguments } from './repr.ts';

/** The option of activations and dropout that torch has for memory. */
export interface InplaceOptions {
  /** Accepted as in torch and only printed: operations never change a tensor. Default: false. */
  inplace?: boolean;
}

/** Base class of activations whose only argument is `inplace`. */
export abstract class InplaceActivation extends Module {
  readonly #inplace: boolean;

  constructor(...given: Call<[options?: InplaceOptions | undefined], 'nn.InplaceActivation'>) {
    const [{ inplace = false }] = arranged('nn.InplaceActivation', given, new.target.name);
    super();
    this.#inplace = inplace;
  }

  /** @internal */
  override extraRepr(): string {
    return writeArguments([], inplaceOf(this.#inplace));
  }
}
