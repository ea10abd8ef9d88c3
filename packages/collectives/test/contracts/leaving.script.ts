// A rank destroys its group before the others have received its data.
import assert from 'node:assert/strict';

import type { Member } from '../fixtures/scenario.ts';

/** A length that is sent at once, and a length that waits for the receiver. */
const lengths = [1, 500_000];

const valueOf = (from: number, to: number): number => 1 + from * 10 + to;
const filled = (length: number, value: number): Float32Array => new Float32Array(length).fill(value);

/** Rank 0 starts its operations and destroys the group at once, before other ranks have started any. */
export async function leaveFirst({ group, rank, size, store, report }: Member): Promise<void> {
  const others = Array.from({ length: size - 1 }, (_, i) => i + 1);
  const gathered = filled(size * 1000, -1);
  const sum = filled(500_000, rank);
  if (rank === 0) {
    const begun = others.flatMap((to) =>
      lengths.map((length, tag) => group.send(filled(length, valueOf(0, to)), to, { tag })),
    );
    begun.push(group.allReduce(sum), group.gather(filled(1000, rank), { output: gathered }));
    const destroyed = group.destroy();
    await store.set('rank 0 has left', '');
    await Promise.all(begun);
    await destroyed;
    assert.ok(gathered.every((value, i) => value === Math.floor(i / 1000)));
  } else {
    await store.wait(['rank 0 has left']);
    // Receives the long message first, because its sender must still run to send it.
    for (const tag of [1, 0]) {
      const received = filled(lengths[tag], -1);
      assert.equal(await group.recv(received, { src: 0, tag }), 0);
      assert.ok(received.every((value) => value === valueOf(0, rank)));
    }
    await group.allReduce(sum);
    await group.gather(filled(1000, rank));
    await group.destroy();
  }
  assert.ok(sum.every((value) => value === (size * (size - 1)) / 2));
  await report({ done: true });
}
