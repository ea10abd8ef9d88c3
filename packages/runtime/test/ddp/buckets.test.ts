import { expect, test } from 'vitest';
import { assignBuckets } from '../../src/ddp/buckets.ts';

test.each([
  // PyTorch's own cases: ComputeBucketAssignmentTest in test/distributed/test_c10d_common.py, tensors of float32.
  { bytes: [400, 800, 400, 200], firstCap: 400, cap: 400, buckets: [[0], [1], [2], [3]] },
  { bytes: [40, 40, 40, 40], firstCap: 40, cap: 80, buckets: [[0], [1, 2], [3]] },
  { bytes: [], firstCap: 10, cap: 10, buckets: [] },
  // A bucket is closed after it has reached the cap, not before it would exceed it.
  {
    bytes: [9, 9, 9, 9],
    firstCap: 10,
    cap: 10,
    buckets: [
      [0, 1],
      [2, 3],
    ],
  },
  { bytes: [10, 9, 1, 10], firstCap: 10, cap: 10, buckets: [[0], [1, 2], [3]] },
  // The first cap applies to the first bucket only, even if its last gradient is large.
  {
    bytes: [1, 1000, 1, 1, 1],
    firstCap: 2,
    cap: 3,
    buckets: [
      [0, 1],
      [2, 3, 4],
    ],
  },
  { bytes: [5, 5, 5], firstCap: 100, cap: 1, buckets: [[0, 1, 2]] },
  // An empty gradient has a bucket too.
  { bytes: [0, 0], firstCap: 1, cap: 1, buckets: [[0, 1]] },
])('$bytes bytes with caps $firstCap and $cap: $buckets', ({ bytes, firstCap, cap, buckets }) => {
  expect(assignBuckets(bytes, firstCap, cap)).toEqual(buckets);
});
