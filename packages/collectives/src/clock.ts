import type { ProcessGroup } from '@ringrun/core';

/** The offset between rank 0's clock and this rank's at one time. */
export interface ClockOffset {
  /** Time of the measurement on this rank's clock, in ms. */
  readonly at: number;
  /** Offset to add to this rank's clock to get rank 0's, in ms. */
  readonly offset: number;
  /** Round-trip time of the measurement, in ms. The offset's error is at most half of it. */
  readonly roundTrip: number;
}

const pings = 16;
/** Tag of the messages; high, because users' tags are usually low. */
const clockTag = 0x636c6b;

/**
 * Measures the offset of this rank's clock (`performance.now()`) from rank 0's. A collective. Each rank asks
 * rank 0 for the time repeatedly and uses the answer with the shortest round trip (Cristian 1989). Offsets
 * exist even on one host, because each process counts from its own start; between hosts NTP's error is added.
 */
export async function measureClock(group: ProcessGroup): Promise<ClockOffset> {
  // After the barrier all ranks are ready, so no thread blocks for long.
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

/** Rank 0 read its clock between the two times: the midpoint, with an error of at most half the round trip. */
export function offsetOf(askedAt: number, rank0: number, answeredAt: number): ClockOffset {
  const middle = (askedAt + answeredAt) / 2;
  return { at: middle, offset: rank0 - middle, roundTrip: answeredAt - askedAt };
}

/**
 * Converts a time of this rank to rank 0's clock. Clocks drift by about 10 µs per second, so the offset is
 * interpolated linearly between two measurements.
 */
export function onClockOfRank0(time: number, first: ClockOffset, last: ClockOffset): number {
  const span = last.at - first.at;
  const share = span > 0 ? (time - first.at) / span : 0;
  return time + first.offset + share * (last.offset - first.offset);
}
