// Operations without cases of dtype and length: the group's memory, barriers, objects, and sums that round.
import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';

import { bytesPerElement, typedArrayClass } from '@ringrun/collectives';

import { bytesOf } from './values.js';

const dtypes = Object.keys(bytesPerElement);

/** Memory of every dtype is zeroed and reduced in place. */
export async function allocations({ group }) {
  for (const dtype of dtypes) {
    for (const length of [0, 1, 1000]) {
      const array = group.allocateSync(dtype, length);
      assert.equal(array.constructor, typedArrayClass[dtype]);
      assert.equal(array.length, length);
      assert.ok(bytesOf(array).every((byte) => byte === 0));
      bytesOf(array).fill(1);
      await group.allReduce(array, { op: 'MAX' });
      assert.ok(bytesOf(array).every((byte) => byte === 1));
    }
  }
}

/** Each rank increments a counter before a barrier; after it, every rank must read the number of ranks. */
export async function barriers({ group, size, store }) {
  const forms = ['barrier', 'barrierSync', 'monitoredBarrier', 'monitoredBarrierSync'];
  for (const [round, form] of [...forms, ...forms].entries()) {
    const key = `barrier ${round}`;
    await store.add(key, 1);
    await group[form]();
    assert.equal(Number(Buffer.from(await store.get(key)).toString()), size);
  }
}

/** Different for each rank, in length too. */
const objectOf = (rank) => ({
  rank,
  name: 'x'.repeat(rank * 1000),
  more: new Map([[rank, new Set([1n, undefined, new Date(rank)])]]),
  weights: Float64Array.of(rank, 0.5),
});

export async function objects({ group, rank, ranks }) {
  const allObjects = ranks.map(objectOf);
  for (const sync of ['', 'Sync']) {
    assert.deepEqual(await group[`allGatherObject${sync}`](objectOf(rank)), allObjects);
    for (const root of ranks) {
      const given = rank === root ? objectOf(root) : undefined;
      const arrived = await group[`broadcastObject${sync}`](given, { src: root });
      assert.deepEqual(arrived, objectOf(root));
      if (rank === root) assert.equal(arrived, given);

      const gathered = await group[`gatherObject${sync}`](objectOf(rank), { dst: root });
      assert.deepEqual(gathered, rank === root ? allObjects : undefined);

      const list = rank === root ? allObjects : undefined;
      assert.deepEqual(await group[`scatterObject${sync}`](list, { src: root }), objectOf(rank));
    }
  }
}

/**
 * Sums, averages and products that round and so depend on the order: checks for the same bytes on every rank and in a
 * second reduction, in any memory. Returns the arrays that must be the same on every rank.
 */
export async function roundings({ group, rank }, lengths) {
  const results = [];
  for (const dtype of ['float32', 'float64', 'float16', 'bfloat16']) {
    for (const length of lengths) {
      const given = irregular(dtype, length, rank);
      const [plain, registered] = [new typedArrayClass[dtype](length), group.allocateSync(dtype, length)];
      for (const op of ['SUM', 'AVG', 'PRODUCT']) {
        plain.set(given);
        await group.allReduce(plain, { op });
        registered.set(given);
        group.allReduceSync(registered, { op });
        const isSame = bytesOf(plain).equals(bytesOf(registered));
        assert.ok(isSame, `${op} of ${length} in ${dtype} has other bytes in registered memory`);
        results.push(bytesOf(plain.slice()));
      }
    }
  }
  return results;
}

/** Numbers of very different magnitudes, from a linear congruential generator. */
function irregular(dtype, length, rank) {
  const values = new Float64Array(length);
  let state = 12_345 + rank * 7919;
  for (let i = 0; i < length; i++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    values[i] = (state / 2 ** 32 - 0.5) * 10 ** (i % 5);
  }
  const Class = typedArrayClass[dtype];
  return bytesPerElement[dtype] === 2 ? Class.fromFloat32(values) : Class.from(values);
}
