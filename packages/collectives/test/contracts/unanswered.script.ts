// Chains of ranks that wait for each other, and messages without a counterpart.
import type { ProcessGroup } from '@ringrun/core';

import { failureOf } from '../fixtures/scenario.ts';
import type { Member } from '../fixtures/scenario.ts';

/** The operation in which ranks 0 and 1 wait, by case; the last rank calls no operation. */
const waits = {
  messages: (group: ProcessGroup) => group.recv(new Float32Array(1), { src: group.rank + 1 }),
  collectiveBehindMessage: (group: ProcessGroup) =>
    group.rank === 0 ? group.barrier() : group.recv(new Float32Array(1), { src: 2 }),
  messageBehindCollective: (group: ProcessGroup) =>
    group.rank === 0 ? group.recv(new Float32Array(1), { src: 1 }) : group.barrier(),
} satisfies Record<string, (group: ProcessGroup) => Promise<unknown>>;

/** Ranks wait for each other in a row, and the last one is stopped by the test. */
export async function waitInARow({
  group,
  rank,
  size,
  args,
  report,
}: Member<{ about: keyof typeof waits }>): Promise<void> {
  await group.allReduce(new Float32Array(1));
  if (rank === size - 1) {
    await report({ absent: true });
    await new Promise((resolve) => process.once('disconnect', resolve));
    return;
  }
  const error = await failureOf(waits[args.about](group));
  await report({
    name: error?.name,
    message: error?.message,
    missing: error?.missing?.map((one) => one.rank),
  });
}

/** Rank 0 posts a receive that no rank answers, rank 1 a long send that no rank receives; both match others. */
export async function destroyWithUnanswered({ group, rank, report }: Member): Promise<void> {
  const peer = 1 - rank;
  const answered = new Float32Array(50_000);
  const unanswered =
    rank === 0
      ? group.recv(new Float32Array(3), { src: peer, tag: 5 })
      : group.send(new Float32Array(50_000), peer, { tag: 6 });
  const failed = failureOf(unanswered);
  const matched = rank === 0 ? group.recv(answered, { src: peer }) : group.send(answered.fill(7), peer);
  await group.destroy();
  await matched;
  const { code, message } = (await failed)!;
  await report({ code, message, sum: answered.reduce((sum, one) => sum + one, 0) });
}
