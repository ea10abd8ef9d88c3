import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { channelShuffle } from '../functional/channel-shuffle.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module.ts';
import { writeArguments } from './repr.ts';
import { requirePositiveInteger } from '../checks/require-number.ts';

/** Interleaves groups of channels (torch.nn.ChannelShuffle): see `F.channelShuffle`. */
export class ChannelShuffle extends Module {
  readonly #groups: number;

  constructor(...given: Call<[groups: number], 'nn.ChannelShuffle'>) {
    const [groups] = arranged('nn.ChannelShuffle', given);
    super();
    requirePositiveInteger('ChannelShuffle', { groups });
    this.#groups = groups;
  }

  /** [N, C, …]; the shape is kept. */
  forward(input: Tensor): Tensor {
    return channelShuffle(input, this.#groups);
  }

  /** @internal */
  override extraRepr(): string {
    return writeArguments([], { groups: this.#groups });
  }
}
