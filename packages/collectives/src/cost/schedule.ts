/** A message to a place of the team. */
export interface Message {
  to: number;
  bytes: number;
}

/**
 * What a rank does between two waits: `Messenger::transfer` of the addon. It passes all messages to the kernel, waits for
 * one message from each of `receives`, and then computes.
 */
export interface Step {
  sends: readonly Message[];
  /** Places; one message of each. */
  receives: readonly number[];
  /** Seconds of computing that follow. Default: 0. */
  work?: number;
}

/** The steps of the rank at `place` of a team of `size`. */
export type Schedule = (place: number, size: number) => Iterable<Step>;

/** Lengths of the segments of `bytes`: all but the last one are full. At least one. */
export function segmentLengths(bytes: number, most: number): number[] {
  const count = Math.max(Math.ceil(bytes / most), 1);
  return Array.from({ length: count }, (_, s) => Math.min(most, bytes - s * most));
}

/** Places around the ring of a team. */
export const above = (place: number, distance: number, size: number) => (place + distance) % size;
export const below = (place: number, distance: number, size: number) => (place - distance + size) % size;
