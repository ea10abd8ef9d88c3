import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { ShapeError } from '../errors/errors.ts';
import { describeType } from '../value-type.ts';
import type { Tensor } from '../tensor/tensor.ts';

/**
 * Interleaves `groups` groups of channels (torch.nn.functional.channel_shuffle; Zhang and others, 2017): channels 0 to 5 in 2
 * groups become 0, 3, 1, 4, 2, 5.
 *
 * - `input`: [N, C, ...]
 */
export function channelShuffle(...given: Call<[input: Tensor, groups: number], 'F.channelShuffle'>): Tensor {
  const [input, groups] = arranged('F.channelShuffle', given);
  const { shape } = input;
  if (shape.length < 3 || !Number.isInteger(groups) || groups < 1 || shape[1] % groups !== 0) {
    throw new ShapeError(
      `channelShuffle: expected [N,C,…] with a number of channels that ${groups} groups divide, got ${describeType(input)}.`,
    );
  }
  return input
    .unflatten(1, [groups, shape[1] / groups])
    .transpose(1, 2)
    .flatten(1, 2);
}
