// Arrays for the cases: in registered memory, in a part of it, or outside of it, each with guards around it.
import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';

import { bytesPerElement, typedArrayClass } from '@ringrun/collectives';

import { bytesOf, differenceFrom } from './values.js';

/** Before and after every array; odd, so that parts begin at odd offsets. */
const guardElements = 3;
const guardByte = 0xa5;
const lineBytes = 64;

/**
 * Position of an array. `rank`: its owner; `peer`: the only rank that it is sent to or received from, if any; `giving`:
 * whether it is an input. `begins`: 'line' at the same offset on every rank if earlier arrays have equal lengths;
 * 'anywhere' and 'shifted' at offsets of parts of a larger array.
 */
const kinds = {
  plain: () => ({ registered: false, begins: 'anywhere' }),
  registered: () => ({ registered: true, begins: 'line' }),
  part: () => ({ registered: true, begins: 'anywhere' }),
  shifted: () => ({ registered: true, begins: 'shifted' }),
  byRank: ({ rank, giving }) => ({ registered: rank % 2 === (giving ? 0 : 1), begins: 'anywhere' }),
  byPeer: ({ rank, peer, giving }) => ({
    registered: (rank + peer) % 2 === (giving ? 1 : 0),
    begins: 'anywhere',
  }),
};

export const memoryKinds = Object.keys(kinds);

/**
 * Hands out arrays from a registered block and a plain one, each directly after the previous array. Constructed by all
 * ranks together.
 */
export class Memory {
  #rank;
  #blocks;
  #used;
  #taken;

  /** `bytes`: of all arrays of the largest case, with a page for guards. */
  constructor(group, bytes) {
    this.#rank = group.rank;
    this.#blocks = {
      plain: bytesOf(new Uint8Array(bytes)),
      registered: bytesOf(group.allocateSync('uint8', bytes)),
    };
    this.clear();
  }

  /** Releases all arrays. */
  clear() {
    this.#used = { plain: 0, registered: 0 };
    this.#taken = [];
  }

  /** Full of the guards' bytes. */
  take(dtype, length, kind, { peer = 0, giving }) {
    const { registered, begins } = kinds[kind]({ rank: this.#rank, peer, giving });
    const name = registered ? 'registered' : 'plain';
    const block = this.#blocks[name];
    const guardBytes = guardElements * bytesPerElement[dtype];
    const begin = this.#begin(name, dtype, begins, guardBytes);
    const end = begin + length * bytesPerElement[dtype];
    assert.ok(end + guardBytes <= block.length, 'the suite has counted its bytes wrong');
    block.fill(guardByte, begin - guardBytes, end + guardBytes);
    this.#used[name] = end + guardBytes;
    const array = new typedArrayClass[dtype](block.buffer, block.byteOffset + begin, length);
    this.#taken.push({ array, block, begin, end, guardBytes, name });
    return array;
  }

  #begin(name, dtype, begins, guardBytes) {
    const size = bytesPerElement[dtype];
    const first = Math.ceil(this.#used[name] / size) * size + guardBytes;
    if (begins === 'line') return Math.ceil(first / lineBytes) * lineBytes;
    return begins === 'shifted' ? first + this.#rank * size : first;
  }

  /**
   * Checks that each array or part holds its pattern, that arrays without one hold the guards' bytes, and that guards
   * are unchanged. `expected`: by array, a pattern or a list of `{ part, pattern }`.
   */
  assertHolds(expected) {
    for (const { array, block, begin, end, guardBytes, name } of this.#taken) {
      const what = `${array.length} elements in ${name} memory`;
      assertParts(partsOf(array, expected.get(array)), what);
      assertUntouched(block.subarray(begin - guardBytes, begin), `before ${what}`);
      assertUntouched(block.subarray(end, end + guardBytes), `after ${what}`);
    }
  }
}

/** As long as the largest element, so that it is a valid pattern for every dtype. */
const guardPattern = Buffer.alloc(8, guardByte);

function partsOf(array, expected = guardPattern) {
  return Array.isArray(expected) ? expected : [{ part: array, pattern: expected }];
}

function assertParts(parts, what) {
  parts.forEach(({ part, pattern }, index) => {
    const difference = differenceFrom(pattern, part);
    if (difference) assert.fail(`part ${index} of ${parts.length}, ${what}: ${difference}`);
  });
}

function assertUntouched(guard, where) {
  if (!guard.equals(Buffer.alloc(guard.length, guardByte)))
    assert.fail(`${where} expected an unchanged guard, got ${guard.toString('hex')}`);
}
