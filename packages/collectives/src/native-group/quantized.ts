import { nativeReduceOp } from '@ringrun/native';

import { DeviceTensor, InvalidArgumentError, ReduceOp } from '@ringrun/core';
import type { CollectiveOptions, OptionNames } from '@ringrun/core';
import { QuantizationError } from '../quantization-error.ts';
import { checkedDTypeOf, describeValue } from './arguments.ts';
import type { NativeOperation } from './native-collectives.ts';

/** Options of `allReduceQuantized`. `bits` and `op` must be the same on every rank. */
export interface QuantizedAllReduceOptions extends CollectiveOptions {
  /** Bits of each number that is sent. */
  bits: 8 | 4;
  /** `ReduceOp.SUM` or `ReduceOp.AVG`. Default: AVG. */
  op?: ReduceOp;
  /** What earlier calls lost of this array, which is added to it. Receives what this call loses. Default: none. */
  error?: QuantizationError;
}

export const quantizedOptionNames: OptionNames<QuantizedAllReduceOptions> = {
  bits: true,
  op: true,
  error: true,
  timeoutMs: true,
};

/** Checks the arguments of `allReduceQuantized`, and returns the addon's call. */
export function quantizedOperation(
  data: Float32Array,
  { bits, op = ReduceOp.AVG, error }: QuantizedAllReduceOptions,
): NativeOperation {
  const dtype = checkedDTypeOf(data);
  if (dtype !== 'float32' || (data as object) instanceof DeviceTensor) {
    const given = dtype === 'float32' ? 'a tensor on a GPU' : dtype;
    throw new InvalidArgumentError(
      `allReduceQuantized: expected a Float32Array, got ${given}. Copy the numbers into one.`,
    );
  }
  if ((bits as number) !== 8 && (bits as number) !== 4) {
    throw new InvalidArgumentError(`allReduceQuantized: bits: expected 8 or 4, got ${describeValue(bits)}.`);
  }
  if (op !== ReduceOp.SUM && op !== ReduceOp.AVG) {
    throw new InvalidArgumentError(
      `allReduceQuantized: op: expected SUM or AVG, got ${describeValue(op)}. Use allReduce for the others.`,
    );
  }
  if (error !== undefined && !(error instanceof QuantizationError && error.length === data.length)) {
    const given = error instanceof QuantizationError ? `one of ${error.length}` : describeValue(error);
    throw new InvalidArgumentError(
      `allReduceQuantized: error: expected a QuantizationError of ${data.length} elements, as many as data, got ${given}.`,
    );
  }
  return (native, timeoutMs, blocking) =>
    native[blocking ? 'allReduceQuantizedSync' : 'allReduceQuantized'](
      data,
      error?.values,
      nativeReduceOp[op],
      bits,
      timeoutMs,
    );
}
