import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { randperm } from '../../src/data/randperm.ts';
import golden from './golden/sampler.json' with { type: 'json' };

test.each(golden.randperm)(
  'equals torch.randperm: $length elements, seed $seed',
  ({ length, seed, indices }) => {
    expect([...randperm(length, seed)]).toEqual(indices);
  },
);

test.each(golden.randpermHashes)(
  'equals torch.randperm: $length elements, seed $seed',
  ({ length, seed, sha256 }) => {
    const bytes = new Uint8Array(randperm(length, seed).buffer);
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(sha256);
  },
);
