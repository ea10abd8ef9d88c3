import { above, below, segmentLengths } from '../schedule.ts';
import type { Message, Schedule } from '../schedule.ts';

/** all_reduce_quantized.cc: elements to all others in one step, limits of one segment, and elements with one scale. */
const elementsPerStep = 256 * 1024;
const maxSegmentElements = 64 * 1024;
const blockElements = 256;
const minSegmentElements = 4 * blockElements;

/** Bytes that stand for a float32 array of `bytes`: 8 or 4 bits for each number, and 4 bytes for each block of 256. */
export function quantizedBytes(bits: 8 | 4, bytes: number): number {
  const elements = bytes / Float32Array.BYTES_PER_ELEMENT;
  return Math.ceil(elements / blockElements) * (4 + (blockElements * bits) / 8);
}

/**
 * In step t, a rank sends to every other rank its terms of segment t of that rank's part, and segment t − 2 of its own
 * part, reduced. It computes while messages are under way.
 */
export function quantizedAllReduce(bytes: number, bits: 8 | 4): Schedule {
  return function* steps(place, size) {
    const share = Math.floor(elementsPerStep / size / blockElements) * blockElements;
    const most = Math.min(Math.max(share, minSegmentElements), maxSegmentElements);
    const part = bytes / Float32Array.BYTES_PER_ELEMENT / size;
    const lengths = segmentLengths(part, most).map((elements) => quantizedBytes(bits, 4 * elements));
    const distances = Array.from({ length: size - 1 }, (_, i) => i + 1);
    for (let step = 0; step < lengths.length + 2; step += 1) {
      const message = (lengths[step] ?? 0) + (lengths[step - 2] ?? 0);
      const sends: Message[] = [];
      const receives: number[] = [];
      if (message > 0)
        for (const distance of distances) {
          sends.push({ to: above(place, distance, size), bytes: message });
          receives.push(below(place, distance, size));
        }
      yield { sends, receives };
    }
  };
}
