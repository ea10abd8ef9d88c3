import { expect, test } from 'vitest';
import { findDivergence } from '../../src/ddp/consistency.ts';

const tensors = (digests: string) => Array.from(digests, (digest, i) => ({ name: `layer${i}`, digest }));

test.each([
  // Rank 0 is not compared, so rank 1 is the reference.
  {
    digests: [undefined, 'aa', 'ba', 'bb'],
    each: ['cc', 'aa', 'ab', 'bb'],
    divergence: { reference: 1, digest: 'aa', ranks: [2, 3], tensor: 'layer0', ranksOfTensor: [3] },
  },
  {
    digests: ['ab', 'aa', undefined],
    each: ['ab', 'aa', 'aa'],
    divergence: { reference: 0, digest: 'ab', ranks: [1], tensor: 'layer1', ranksOfTensor: [1] },
  },
  // The reference lacks the tensor, so its name is that of another rank.
  {
    digests: ['a', 'ab'],
    each: ['a', 'ab'],
    divergence: { reference: 0, digest: 'a', ranks: [1], tensor: 'layer1', ranksOfTensor: [1] },
  },
])('$digests: $divergence.tensor differs on $divergence.ranksOfTensor', ({ digests, each, divergence }) => {
  expect(findDivergence(digests, each.map(tensors))).toEqual(divergence);
});
