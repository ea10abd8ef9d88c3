import { above, below, segmentLengths } from '../schedule.ts';
import type { Schedule, Step } from '../schedule.ts';

/** broadcast.cc. */
const broadcastBytes = 512 * 1024;

interface Place {
  /** Undefined: the root, at place 0. */
  parent?: number;
  children: readonly number[];
}

/** From place 0. */
export function binomialTreeBroadcast(bytes: number): Schedule {
  return (place, size) => broadcast(bytes, inBinomialTree(place, size));
}

/** From place 0, along a line. */
export function chainBroadcast(bytes: number): Schedule {
  return (place, size) =>
    broadcast(bytes, {
      ...(place > 0 && { parent: place - 1 }),
      children: place + 1 < size ? [place + 1] : [],
    });
}

/** Confirmations go up; then every rank receives segment s while it passes on segment s − 1. */
function* broadcast(bytes: number, { parent, children }: Place): Generator<Step> {
  yield { sends: [], receives: children };
  const segments = segmentLengths(bytes, broadcastBytes);
  const toChildren = (length: number) => children.map((to) => ({ to, bytes: length }));
  if (parent === undefined) {
    for (const length of segments) yield { sends: toChildren(length), receives: [] };
    return;
  }
  yield { sends: [{ to: parent, bytes: 0 }], receives: [] };
  for (let s = 0; s <= segments.length; s += 1)
    yield {
      sends: s > 0 ? toChildren(segments[s - 1]) : [],
      receives: s < segments.length ? [parent] : [],
    };
}

/** reduce_binomial_tree.cc, to place 0. */
export function binomialTreeReduce(bytes: number, secondsPerReducedByte: number): Schedule {
  return function* steps(place, size) {
    const { parent, children } = inBinomialTree(place, size);
    yield { sends: [], receives: children, work: children.length * bytes * secondsPerReducedByte };
    if (parent !== undefined) yield { sends: [{ to: parent, bytes }], receives: [] };
  };
}

function inBinomialTree(place: number, size: number): Place {
  const children: number[] = [];
  for (let bit = 1; bit < size; bit *= 2) {
    if ((place & bit) !== 0) return { parent: place - bit, children };
    if (place + bit < size) children.push(place + bit);
  }
  return { children };
}

/** all_gather_bruck.cc. `bytes` of all ranks together. */
export function bruckAllGather(bytes: number): Schedule {
  return function* steps(place, size) {
    for (let distance = 1; distance < size; distance *= 2) {
      const blocks = Math.min(distance, size - distance);
      yield {
        sends: [{ to: below(place, distance, size), bytes: (blocks * bytes) / size }],
        receives: [above(place, distance, size)],
      };
    }
  };
}

/** agree.cc: every rank has heard from all others. */
export function dissemination(): Schedule {
  return function* steps(place, size) {
    for (let distance = 1; distance < size; distance *= 2)
      yield {
        sends: [{ to: above(place, distance, size), bytes: 0 }],
        receives: [below(place, distance, size)],
      };
  };
}
