import { above, below, segmentLengths } from '../schedule.ts';
import type { Message, Schedule, Step } from '../schedule.ts';

/** all_reduce_ring.cc: bytes of a message that is reduced, and of one that is not. */
const reducedBytes = 256 * 1024;
const gatheredBytes = 1024 * 1024;

export interface RingOptions {
  bytes: number;
  /** Whether messages to the next place are sent before previous ones have arrived. */
  isFar: (place: number, next: number) => boolean;
  /** Seconds to reduce a byte. */
  secondsPerReducedByte: number;
}

/** Reduce-scatter and all-gather around the ring. */
export function ringAllReduce(options: RingOptions): Schedule {
  return function* steps(place, size) {
    yield* reduceScatter(options, place, size);
    yield* allGather(options, place, size, gatheredBytes);
  };
}

/** all_gather_ring.cc. `bytes` of all ranks together. */
export function ringAllGather(options: Omit<RingOptions, 'secondsPerReducedByte'>): Schedule {
  return (place, size) => allGather(options, place, size, gatheredBytes);
}

function* reduceScatter(
  { bytes, isFar, secondsPerReducedByte }: RingOptions,
  place: number,
  size: number,
): Generator<Step> {
  const next = above(place, 1, size);
  const segments = segmentLengths(bytes / size, reducedBytes);
  const messages = segments.length * (size - 1);
  const ahead = isFar(place, next) ? segments.length - 1 : 0;
  let begun = 0;
  for (let message = 0; message < messages; message += 1) {
    const sends: Message[] = [];
    for (; begun <= message + ahead && begun < messages; begun += 1)
      sends.push({ to: next, bytes: segments[begun % segments.length] });
    const work = segments[message % segments.length] * secondsPerReducedByte;
    yield { sends, receives: [below(place, 1, size)], work };
  }
}

function* allGather(
  { bytes, isFar }: Pick<RingOptions, 'bytes' | 'isFar'>,
  place: number,
  size: number,
  most: number,
): Generator<Step> {
  const next = above(place, 1, size);
  const receives = [below(place, 1, size)];
  const segments = segmentLengths(bytes / size, most);
  const messages = segments.length * (size - 1);
  const far = isFar(place, next);
  // The next messages that are there: own ones, then those that have arrived.
  let begun = 0;
  for (let message = 0; message < messages; message += 1) {
    const last = Math.min(far ? segments.length + message : message + 1, messages);
    const sends: Message[] = [];
    for (; begun < last; begun += 1) sends.push({ to: next, bytes: segments[begun % segments.length] });
    yield { sends, receives };
  }
}
