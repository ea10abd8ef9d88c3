import { above, below, segmentLengths } from '../schedule.ts';
import type { Message, Schedule, Step } from '../schedule.ts';
import { ringAllGather } from './ring.ts';
import type { RingOptions } from './ring.ts';

/** all_reduce_direct.cc: limits of exchanging whole arrays. */
const maxWholeArraysBytes = 512 * 1024;
const moreThanNeededBytes = 48 * 1024;

/** segmented_reduce_scatter.cc: terms of a segment of all ranks, and limits of one message. */
const receiveBufferBytes = 2 * 1024 * 1024;
const maxSegmentBytes = 256 * 1024;
const minSegmentBytes = 4 * 1024;

/** exchange.cc: peers at once. */
const atOnce = 8;

/** Every rank sends its terms to the ranks that reduce them. */
export function directAllReduce(options: RingOptions): Schedule {
  const { bytes, secondsPerReducedByte } = options;
  return function* steps(place, size) {
    const received = (size - 1) * bytes;
    const needed = (received / size) * 2;
    if (received <= maxWholeArraysBytes && received <= needed + moreThanNeededBytes) {
      yield { ...exchangeWithAll(place, size, bytes), work: received * secondsPerReducedByte };
      return;
    }
    yield* directReduceScatter(options)(place, size);
    yield* ringAllGather(options)(place, size);
  };
}

/** Segments of every rank's part, one after the other, or all at once over long links. `bytes` of the whole array. */
export function directReduceScatter({ bytes, isFar, secondsPerReducedByte }: RingOptions): Schedule {
  return function* steps(place, size) {
    const lengths = segmentLengths(bytes / size, directSegmentBytes(size));
    const mostAhead = isFar(place, above(place, 1, size)) ? lengths.length : 0;
    let begun = 0;
    for (const [s, length] of lengths.entries()) {
      const sends: Message[] = [];
      for (; begun <= s + mostAhead && begun < lengths.length; begun += 1)
        sends.push(...exchangeWithAll(place, size, lengths[begun]).sends);
      const { receives } = exchangeWithAll(place, size, length);
      yield { sends, receives, work: (size - 1) * length * secondsPerReducedByte };
    }
  };
}

function directSegmentBytes(size: number): number {
  const share = Math.floor(receiveBufferBytes / size / 64) * 64;
  return Math.min(Math.max(share, minSegmentBytes), maxSegmentBytes);
}

/** As many bytes to every other rank, at once. */
export function exchangeWithAll(place: number, size: number, bytes: number): Step {
  const distances = Array.from({ length: size - 1 }, (_, i) => i + 1);
  return {
    sends: distances.map((distance) => ({ to: above(place, distance, size), bytes })),
    receives: distances.map((distance) => below(place, distance, size)),
  };
}

/** A block for every other rank, 8 of them at once: allGather, gather, scatter, allToAll. */
export function directExchange(blockBytes: number, perRound = atOnce): Schedule {
  return function* steps(place, size) {
    for (let first = 1; first < size; first += perRound) {
      const last = Math.min(first + perRound, size);
      const distances = Array.from({ length: last - first }, (_, i) => first + i);
      yield {
        sends: distances.map((distance) => ({ to: above(place, distance, size), bytes: blockBytes })),
        receives: distances.map((distance) => below(place, distance, size)),
      };
    }
  };
}
