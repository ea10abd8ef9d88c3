import type { Schedule, Step } from '../schedule.ts';

interface Options {
  bytes: number;
  secondsPerReducedByte: number;
}

/** all_reduce_halving_doubling.cc: neighbours divide the array, then exchange the complete parts. */
export function halvingDoublingAllReduce({ bytes, secondsPerReducedByte }: Options): Schedule {
  return aroundSurplus({ bytes, secondsPerReducedByte }, function* steps(neighbourOf, vertices) {
    let part = bytes;
    for (let bit = 1; bit < vertices; bit *= 2) {
      part /= 2;
      yield exchangeWith(neighbourOf(bit), part, part * secondsPerReducedByte);
    }
    for (let bit = vertices / 2; bit >= 1; bit /= 2) {
      yield exchangeWith(neighbourOf(bit), part);
      part *= 2;
    }
  });
}

/** all_reduce_recursive_doubling.cc: neighbours exchange whole arrays. */
export function recursiveDoublingAllReduce({ bytes, secondsPerReducedByte }: Options): Schedule {
  return aroundSurplus({ bytes, secondsPerReducedByte }, function* steps(neighbourOf, vertices) {
    for (let bit = 1; bit < vertices; bit *= 2)
      yield exchangeWith(neighbourOf(bit), bytes, bytes * secondsPerReducedByte);
  });
}

function exchangeWith(place: number, bytes: number, work = 0): Step {
  return { sends: [{ to: place, bytes }], receives: [place], work };
}

/** hypercube.h: ranks above the largest power of two send their terms to another one, and receive the result from it. */
function aroundSurplus(
  { bytes, secondsPerReducedByte }: Options,
  stepsOf: (neighbourOf: (bit: number) => number, vertices: number) => Iterable<Step>,
): Schedule {
  return function* steps(place, size) {
    let vertices = 1;
    while (2 * vertices <= size) vertices *= 2;
    const surplus = size - vertices;
    const isPaired = place < 2 * surplus;
    if (isPaired && place % 2 === 0) {
      yield { sends: [{ to: place + 1, bytes }], receives: [] };
      yield { sends: [], receives: [place + 1] };
      return;
    }
    if (isPaired) yield { sends: [], receives: [place - 1], work: bytes * secondsPerReducedByte };
    const vertex = isPaired ? (place - 1) / 2 : place - surplus;
    yield* stepsOf((bit) => placeOf(vertex ^ bit, surplus), vertices);
    if (isPaired) yield { sends: [{ to: place - 1, bytes }], receives: [] };
  };
}

const placeOf = (vertex: number, surplus: number) => (vertex < surplus ? 2 * vertex + 1 : vertex + surplus);
