// The cases, and the form, memory and root of each: the same on every rank.
import { bytesPerElement, reduceOpsFor } from '@ringrun/collectives';

import { memoryKinds } from './memory.js';

const dtypes = Object.keys(bytesPerElement);

// Shared memory has a separate place for arrays of at most 16 bytes.
const small = [0, 1, 4, 7, 16, 17, 1000];
const large = [65_537, 1_000_000];
export const largest = 1_000_000;

/**
 * Elements per part, for arrays with a part for each rank. The largest array is divided by the ranks, since each has
 * several.
 */
const partOf = (length, size) => (length < largest ? length : Math.ceil(length / size));

export const largestPart = ({ size }) =>
  Math.max(...[...small, ...large].map((length) => partOf(length, size)));

/** In the short form, large arrays use a few reductions only: one for each element size and kind of arithmetic. */
const largeReductions = [
  ['float32', 'SUM'],
  ['bfloat16', 'AVG'],
  ['int64', 'MAX'],
  ['uint8', 'BXOR'],
];
const largeMovements = ['float64', 'uint8'];

/** Every dtype and op, at every length. */
export function reductionCases({ size, extent, group: { backend } }) {
  const isWanted = (length, dtype, op) =>
    extent === 'full' ||
    (small.includes(length) && length !== 1) ||
    largeReductions.some(([one, its]) => one === dtype && its === op);
  return dtypes.flatMap((dtype) =>
    reduceOpsFor(dtype).flatMap((op) =>
      lengthsFor((length) => isWanted(length, dtype, op)).flatMap((length) =>
        inMemories(extent, { dtype, op, length, part: partOf(length, size), size, backend }),
      ),
    ),
  );
}

/** Every dtype at every length. */
export function movementCases({ size, extent }) {
  const isWanted = (length, dtype) =>
    extent === 'full' || small.includes(length) || largeMovements.includes(dtype);
  return dtypes.flatMap((dtype) =>
    lengthsFor((length) => isWanted(length, dtype)).flatMap((length) =>
      inMemories(extent, { dtype, length, part: partOf(length, size), size }),
    ),
  );
}

const lengthsFor = (isWanted) => [...small, ...large].filter(isWanted);

/** The full form uses every kind of memory for all but the largest arrays; otherwise `Turns` alternates the kinds. */
function inMemories(extent, one) {
  if (extent !== 'full' || one.length === largest) return [one];
  return memoryKinds.map((kind) => ({ ...one, kind }));
}

/** Chooses the settings that a case leaves open, in pseudo-random order, so that every combination occurs. */
export class Turns {
  #state = 1;

  /** `form`: of the call on this rank. Most cases mix synchronous and asynchronous forms among the ranks. */
  next({ rank, size }, { kind }) {
    const form = this.#oneOf(['Sync', '', rank % 2 === 0 ? 'Sync' : '', rank % 2 === 0 ? '' : 'Sync']);
    const turn = { form, root: this.#below(size), inPlace: this.#below(2) === 1, tag: this.#below(2 ** 31) };
    return { ...turn, kind: kind ?? this.#oneOf(memoryKinds) };
  }

  /** A linear congruential generator, whose upper bits are more random. */
  #below(end) {
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((this.#state / 2 ** 32) * end);
  }

  #oneOf(list) {
    return list[this.#below(list.length)];
  }
}
