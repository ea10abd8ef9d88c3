import { above, below, segmentLengths } from '../schedule.ts';
import type { Message, Schedule } from '../schedule.ts';
import type { RingOptions } from './ring.ts';

/** all_reduce_quantized.cc: elements to all others in one step, limits of one segment, and elements with one scale. */
const elementsPerStep = 256 * 1024;
const maxSegmentElements = 64 * 1024;
const blockElements = 256;
const minSegmentElements = 4 * blockElements;

/** Steps from the terms of a segment to its result, and the most of them if any link is long. */
const shortLag = 2;
const longLag = 8;

/** Bytes that stand for a float32 array of `bytes`: 8 or 4 bits for each number, and 4 bytes for each block of 256. */
export function quantizedBytes(bits: 8 | 4, bytes: number): number {
  const elements = bytes / Float32Array.BYTES_PER_ELEMENT;
  return Math.ceil(elements / blockElements) * (4 + (blockElements * bits) / 8);
}

/**
 * In step t, a rank sends to every other rank its terms of segment t of that rank's part, and segment t − lag of its own
 * part, reduced. After the first step it sends as many steps ahead over long links as the lag allows: the addon sends
 * fewer if they fill the link, which takes as long. It computes while messages are under way.
 */
export function quantizedAllReduce(
  { bytes, isFar }: Pick<RingOptions, 'bytes' | 'isFar'>,
  bits: 8 | 4,
): Schedule {
  return function* steps(place, size) {
    const share = Math.floor(elementsPerStep / size / blockElements) * blockElements;
    const perSegment = Math.min(Math.max(share, minSegmentElements), maxSegmentElements);
    const part = bytes / Float32Array.BYTES_PER_ELEMENT / size;
    const lengths = segmentLengths(part, perSegment).map((elements) => quantizedBytes(bits, 4 * elements));
    const distances = Array.from({ length: size - 1 }, (_, i) => i + 1);
    const places = [place, ...distances.map((distance) => above(place, distance, size))];
    const hasLongLink = (from: number): boolean => places.some((to) => to !== from && isFar(from, to));
    const lag = places.some(hasLongLink) ? Math.min(Math.max(lengths.length, shortLag), longLag) : shortLag;
    const steps = lengths.length + lag;
    const messageOf = (step: number): number => (lengths[step] ?? 0) + (lengths[step - lag] ?? 0);
    const mostAhead = hasLongLink(place) ? lag - shortLag : 0;
    let begun = 0;
    for (let step = 0; step < steps; step += 1) {
      const ahead = step === 0 ? 0 : mostAhead;
      const sends: Message[] = [];
      for (; begun <= step + ahead && begun < steps; begun += 1) {
        const length = messageOf(begun);
        if (length > 0)
          for (const distance of distances) sends.push({ to: above(place, distance, size), bytes: length });
      }
      const receives = messageOf(step) > 0 ? distances.map((distance) => below(place, distance, size)) : [];
      yield { sends, receives };
    }
  };
}
