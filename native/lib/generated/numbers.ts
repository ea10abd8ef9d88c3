// Written by native/generate-numbers.js. Do not edit: change the headers, and run `npm run generate`.

/** Operation numbers: Op of native/src/base/operation.h. */
export const nativeOp = {
  barrier: 1,
  allReduce: 2,
  broadcast: 3,
  allocate: 4,
  destroy: 5,
  connect: 6,
  reduce: 7,
  reduceScatter: 8,
  allGather: 9,
  gather: 10,
  scatter: 11,
  allToAll: 12,
  monitoredBarrier: 13,
  send: 14,
  receive: 15,
  copyToDevice: 16,
  copyToHost: 17,
  allReduceCoalesced: 18,
  newGroup: 19,
  gpuStep: 20,
  allReduceQuantized: 21,
  measureLinks: 22,
} as const;

/** Reduction numbers: ReduceOp of native/src/base/operation.h. */
export const nativeReduceOp = {
  SUM: 1,
  AVG: 2,
  PRODUCT: 3,
  MIN: 4,
  MAX: 5,
  BAND: 6,
  BOR: 7,
  BXOR: 8,
} as const;

/** Dtype numbers: DType of native/src/base/operation.h. */
export const nativeDType = {
  float32: 1,
  float64: 2,
  int8: 3,
  uint8: 4,
  int32: 5,
  uint32: 6,
  int64: 7,
  uint64: 8,
  float16: 9,
  bfloat16: 10,
} as const;

/** Causes of a failed operation, by the names that errors have: FailureCode of native/src/base/failure.h. */
export const nativeFailureCode = {
  PEER_DIED: 1,
  TIMEOUT: 2,
  MISMATCH: 3,
  SYSTEM: 4,
  CLOSED: 5,
  UNTRUSTED: 6,
  ALTERED: 7,
} as const;
