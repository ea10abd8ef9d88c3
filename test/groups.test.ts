import { expect, test } from 'vitest';
import { builtScript } from './support/built-script.ts';
import { ways } from './support/extent.ts';
import { Scenarios } from './support/scenarios.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

const scenarios = new Scenarios(builtScript('groups.script'), temporaryFolder());
const size = 4;
const job = scenarios.job(size, ['messages', 'destroyed', 'disagreement', 'disorder', 'absence'], {
  // The report of the last scenario.
  stderr: expect.stringMatching(/^ringrun: timeout of newGroup #1: missing rank 3 \(/),
});

type Found = Record<string, unknown>;

test.each(ways(['tcp'], ['shm']))(
  '%s: groups of even and odd ranks run concurrently and number ranks like torch',
  async (transport) => {
    const found = await scenarios.run<Found>(size, 'evenAndOdd', { transport });
    for (const [rank, one] of found.entries()) {
      const [first, last] = rank % 2 === 0 ? [0, 2] : [1, 3];
      expect(one).toEqual({
        other: null,
        places: [rank === first ? 0 : 1, 2, rank],
        members: [first, last],
        globalRanks: [first, last],
        groupRanks: [0, 1],
        sums: [first + last, 6, last, rank === last ? first + last : rank],
        object: { from: last },
        objects: [`rank ${first}`, `rank ${last}`],
        gathered: rank === last ? [first, last] : null,
        notInside: expect.stringMatching(
          `^InvalidArgumentError: src is ${(last + 1) % size}, expected a rank .* ranks ${first} and ${last}\\.$`,
        ) as string,
        byDefault:
          rank === 1
            ? (expect.stringMatching(
                /^InvalidArgumentError: src is 0, expected a rank .*: ranks 1 and 3\.$/,
              ) as string)
            : 'none',
        notMember: expect.stringMatching(
          `^RingrunError: The group is null: .* this one, rank ${rank} of 4\\.`,
        ) as string,
      });
    }
  },
);

test('send and recv in a group use ranks of the default group', async () => {
  const found = await job.of<Found>('messages');
  expect(found[1]).toEqual({ received: [3, 3], senders: [3] });
  expect(found[3]).toEqual({ received: [1, 1], senders: [1] });
});

test('members destroy their group; the others are destroyed with the default group', async () => {
  const members = [[0, 1], [1, 2, 3], [0, 1, 2, 3], [3]];
  for (const [rank, found] of (await job.of<Found>('destroyed')).entries()) {
    expect(found).toEqual({
      all: 4,
      after: members.map((ones) =>
        ones.includes(rank) ? (expect.stringMatching(/this group was destroyed/) as string) : null,
      ),
      isInitialized: false,
      rank,
    });
  }
});

test('ranks that call newGroup with different ranks all throw, and can continue', async () => {
  const found = await job.of<Found>('disagreement');
  for (const { error } of found) {
    expect(error).toMatch(
      /^InvalidArgumentError: Call 1 of newGroup failed: expected .*, got ranks .* on rank \d and ranks/,
    );
    expect(error).toContain('ranks 0-1 on rank');
    expect(error).toContain('ranks 0 and 3 on rank');
  }
  expect(found.map(({ sum }) => sum)).toEqual([3, 1, 2, 3]);
});

test('newGroup on three ranks and a barrier on the fourth fail at once, and show both sides', async () => {
  const found = await job.of<Found>('disorder');
  for (const { error } of found) {
    expect(error).toMatch(
      /^CollectiveMismatchError: the ranks called different operations\. .*: newGroup #1; rank 3 \(.*\): barrier #1\./,
    );
  }
});

test('a rank that never calls newGroup is named at the timeout', async () => {
  const found = await job.of<Found>('absence');
  for (const { error } of found.slice(0, 3)) {
    expect(error).toMatch(
      /^CollectiveTimeoutError: newGroup #1 did not complete within 700 ms .* Missing: rank 3 \(/,
    );
  }
});
