// send and recv: around a ring with tags, and from any rank.
import assert from 'node:assert/strict';

import { fillWith, patternOfTerms } from './values.js';

/** Each runs one case. A group of one has no rank to send to. */
export const messages = {
  ring: async (world, one) => {
    const { group, memory, rank, size } = world;
    if (size === 1) return [];
    const [next, before] = [(rank + 1) % size, (rank + size - 1) % size];
    const sent = memory.take(one.dtype, one.length, one.kind, { peer: next, giving: true });
    fillWith(sent, patternOfTerms(one, rank));
    const received = memory.take(one.dtype, one.length, one.kind, { peer: before, giving: false });
    const exchange = one.form === 'Sync' ? exchangeNow : one.inPlace ? exchangeAwaited : exchangeStarted;
    assert.equal(await exchange(group, { sent, next, received, before, tag: one.tag }), before);
    memory.assertHolds(
      new Map([
        [sent, patternOfTerms(one, rank)],
        [received, patternOfTerms(one, before)],
      ]),
    );
    return [];
  },

  /** The root receives from any rank, and then, of two messages of each rank, the later one by its tag. */
  anySource: async (world, one) => {
    const { memory, rank, ranks, root } = { ...world, root: one.root };
    const others = ranks.filter((other) => other !== root);
    const [tag, first, second] = [one.tag, (one.tag + 1) % 2 ** 31, (one.tag + 2) % 2 ** 31];
    if (rank !== root) {
      const sent = memory.take(one.dtype, one.part, one.kind, { peer: root, giving: true });
      fillWith(sent, patternOfTerms(one, rank));
      const sending = [tag, first, second].map((each) => world.group.send(sent, root, { tag: each }));
      await Promise.all(sending);
      memory.assertHolds(new Map([[sent, patternOfTerms(one, rank)]]));
      return [];
    }
    const expected = new Map();
    const receive = async (options) => {
      const received = memory.take(one.dtype, one.part, one.kind, { giving: false });
      const from = await world.call('recv', received, options);
      expected.set(received, patternOfTerms(one, from));
      return from;
    };
    const senders = [];
    while (senders.length < others.length) senders.push(await receive({ tag }));
    assert.deepEqual(senders.sort(), others);
    for (const src of others) {
      assert.equal(await receive({ src, tag: second }), src);
      assert.equal(await receive({ src, tag: first }), src);
    }
    memory.assertHolds(expected);
    return [];
  },
};

async function exchangeStarted(group, { sent, next, received, before, tag }) {
  const sending = group.isend(sent, next, { tag });
  const receiving = group.irecv(received, { src: before, tag });
  const from = await receiving.wait();
  await sending.wait();
  assert.ok(sending.isCompleted() && receiving.isCompleted());
  return from;
}

async function exchangeAwaited(group, { sent, next, received, tag }) {
  const sending = group.send(sent, next, { tag });
  const from = await group.recv(received, { tag });
  await sending;
  return from;
}

/** Rank 0 sends first, so that the ranks of the ring do not deadlock. */
function exchangeNow(group, { sent, next, received, before, tag }) {
  if (group.rank === 0) group.sendSync(sent, next, { tag });
  const from = group.recvSync(received, { src: before, tag });
  if (group.rank !== 0) group.sendSync(sent, next, { tag });
  return from;
}
