import { expect, test } from 'vitest';

import { runRanks, startRanks } from '../fixtures/ranks.ts';

const transports = ['shm', 'tcp'];

test.each(transports.flatMap((transport) => [2, 3].map((size) => ({ transport, size }))))(
  'messages go around a ring of $size ranks over $transport, in every form',
  async ({ transport, size }) => {
    await runRanks(size, 'messageRing', {
      args: { lengths: [0, 1, 1000, 500_000] },
      env: { RINGRUN_TRANSPORT: transport },
    });
  },
);

test.each(transports)(
  'whoever sends is received and named, and tags tell messages apart, over %s',
  async (transport) => {
    const [receiver] = await runRanks(4, 'messagesToAnyone', { env: { RINGRUN_TRANSPORT: transport } });
    expect(receiver).toEqual({ senders: [1, 2, 3] });
  },
);

test('a receive that does not fit its message shows both sides', async () => {
  await using group = await startRanks(2, 'mismatchedMessage');
  const { name, message } = await group.ranks[1].reported('name');
  expect(name).toBe('CollectiveMismatchError');
  expect(message).toContain('3 elements');
  expect(message).toContain('4 elements');
});
