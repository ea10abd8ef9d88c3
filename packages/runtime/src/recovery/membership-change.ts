import type { MembershipChange, ProcessGroup, RankIdentity } from '@ringrun/core';
import type { Process } from '@ringrun/rendezvous';

/** How the members changed, for `onMembershipChange`. Undefined if they are the same. Rank 0 prints it. */
export function announceChange(
  before: readonly Process[],
  members: readonly Process[],
  { rank, size }: Pick<ProcessGroup, 'rank' | 'size'>,
): MembershipChange | undefined {
  const died = without(before, members);
  const joined = without(members, before);
  if (died.length + joined.length === 0) return undefined;
  if (rank === 0) {
    const changes = [
      ...died.map((one) => `${describe(one)} is gone`),
      ...joined.map((one) => `${describe(one)} has joined`),
    ];
    process.stderr.write(`ringrun: ${changes.join(', ')}; training continues with ${ranksCount(size)}\n`);
  }
  return {
    rank,
    worldSize: size,
    startRanks: members.map((one) => one.rank),
    died: died.map(identity),
    joined: joined.map(identity),
  };
}

function without(some: readonly Process[], others: readonly Process[]): Process[] {
  return some.filter(({ token }) => others.every((other) => other.token !== token));
}

function describe({ rank, host, pid }: Process): string {
  return `rank ${rank} (host ${host}, pid ${pid})`;
}

function identity({ rank, host, pid }: Process): RankIdentity {
  return { rank, host, pid };
}

function ranksCount(size: number): string {
  return size === 1 ? '1 rank' : `${size} ranks`;
}
