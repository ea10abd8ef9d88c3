import { expect, test } from 'vitest';

import { settings } from '../conformance/settings.ts';
import { startRanks } from '../support/ranks.ts';

const cases = settings
  .filter(({ size }) => size === 2)
  .flatMap((setting) => [
    { ...setting, what: 'length', length: 3, sides: ['3 elements', '4 elements'] },
    { ...setting, what: 'length', length: 100_000, sides: ['100,000 elements', '100,001 elements'] },
    { ...setting, what: 'dtype', length: 3, sides: ['(float16, 3', '(bfloat16, 3'] },
    { ...setting, what: 'dtype', length: 100_000, sides: ['(float16, 100,000', '(bfloat16, 100,000'] },
  ]);

test.each(cases)(
  'a mismatched receive over $transport shows both sides ($what, $length elements)',
  async ({ envOf, what, length, sides }) => {
    await using group = await startRanks(2, 'mismatchedMessage', { args: { what, length }, envOf });
    const [sender, receiver] = await Promise.all(group.ranks.map(({ reported }) => reported('name')));
    expect(receiver).toMatchObject({ name: 'CollectiveMismatchError', untouched: true });
    for (const side of sides) expect(receiver['message']).toContain(side);
    // The sender of a short message has finished before the receiver checks it.
    if (length < 1000) expect(sender).toMatchObject({ name: 'none' });
    else for (const side of sides) expect(sender['message']).toContain(side);
  },
);
