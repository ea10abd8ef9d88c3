import type { ProcessGroup } from '@ringrun/collectives';

/** How far rank 0's clock is ahead of this rank's, at one time. */
export interface ClockOffset {
  /** On this rank's clock, in ms. */
  readonly at: number;
  /** What to add to this rank's clock, in ms. */
  readonly offset: number;
  /** Of the message that told, in ms: the offset is wrong by half of it at most. */
  readonly roundTrip: number;
}

const pings = 16;
/** Of messages between ranks; high, since those of users' own are low. */
const clockTag = 0x636c6b;

/**
 * Compares this rank's clock (`performance.now()`) with rank 0's: a collective. Each rank asks rank 0 for the time again and again; the answer that took the shortest
 * way is believed (Cristian 1989). Ranks of one host have one clock, but processes count from their own beginnings, and hosts differ by what NTP leaves.
 */
export async function measureClock(group: ProcessGroup): Promise<ClockOffset> {
  // All are here then, so that nobody blocks its thread for long.
  await group.barrier();
  if (group.rank > 0) return askRank0(group);
  for (let rank = 1; rank < group.size; rank += 1) answer(group, rank);
  return { at: performance.now(), offset: 0, roundTrip: 0 };
}

function askRank0(group: ProcessGroup): ClockOffset {
  const time = new Float64Array(1);
  const answers = Array.from({ length: pings }, () => {
    const askedAt = performance.now();
    group.sendSync(time, 0, { tag: clockTag });
    group.recvSync(time, { src: 0, tag: clockTag });
    return offsetOf(askedAt, time[0], performance.now());
  });
  return answers.reduce((best, next) => (next.roundTrip < best.roundTrip ? next : best));
}

function answer(group: ProcessGroup, rank: number): void {
  const time = new Float64Array(1);
  for (let i = 0; i < pings; i += 1) {
    group.recvSync(time, { src: rank, tag: clockTag });
    time[0] = performance.now();
    group.sendSync(time, rank, { tag: clockTag });
  }
}

/** Rank 0 has read its clock between the two, so in the middle but for half of the way. */
export function offsetOf(askedAt: number, rank0: number, answeredAt: number): ClockOffset {
  const middle = (askedAt + answeredAt) / 2;
  return { at: middle, offset: rank0 - middle, roundTrip: answeredAt - askedAt };
}

/**
 * A time of this rank on rank 0's clock. Quartz drifts by some 10 µs in a second, so between two measurements the offset is taken from the line through them.
 */
export function onClockOfRank0(time: number, first: ClockOffset, last: ClockOffset): number {
  const span = last.at - first.at;
  const share = span > 0 ? (time - first.at) / span : 0;
  return time + first.offset + share * (last.offset - first.offset);
}
