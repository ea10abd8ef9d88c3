// Arrays of more than 2^31 bytes.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';

import { differenceFrom, fillWith, patternOfReduction, patternOfTerms } from './values.js';

/** Odd, so that the ranks' shares differ too. */
const length = 2 ** 31 + 3;

/** args.registered: use memory of allocateSync. Reports a hash of the sums. */
export async function hugeArrays({ group, rank, size, args, report }) {
  const one = { dtype: 'uint8', op: 'SUM', size };
  const array = args.registered ? group.allocateSync('uint8', length) : new Uint8Array(length);
  fillWith(array, patternOfTerms(one, rank));
  await group.allReduce(array);
  assert.equal(differenceFrom(patternOfReduction(one), array), undefined);
  const hash = hashOf(array);

  fillWith(array, patternOfTerms(one, rank));
  await group.broadcast(array, { src: 1 });
  assert.equal(differenceFrom(patternOfTerms(one, 1), array), undefined);

  fillWith(array, patternOfTerms(one, rank));
  if (rank === 0) await group.send(array, 1);
  else await group.recv(array);
  assert.equal(differenceFrom(patternOfTerms(one, 0), array), undefined);
  await group.destroy();
  await report({ transport: group.transport, hash });
}

/** Hashed in pieces, because one update accepts fewer bytes. */
const stretchBytes = 2 ** 30;

function hashOf(bytes) {
  const hash = createHash('sha1');
  for (let begin = 0; begin < bytes.length; begin += stretchBytes)
    hash.update(bytes.subarray(begin, begin + stretchBytes));
  return hash.digest('hex');
}
