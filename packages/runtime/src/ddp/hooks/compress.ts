import { narrowFloat32, widenToFloat32, type TypedArrayOf } from '@ringrun/collectives';
import { inBothForms, type CommHook } from './comm-hook.ts';

/**
 * The average of the gradients as float16 numbers: half of the bytes (torch: fp16_compress_hook). Each rank's gradient is rounded once, to 11 significant bits, and so
 * is the average, which is computed in float32. Beyond 65,504 lies infinity; below 2^-14 the unit is 2^-24.
 */
export const fp16Compress: CommHook = compressedTo('float16');

/** The same as bfloat16 (torch: bf16_compress_hook): the range of float32, 8 significant bits. */
export const bf16Compress: CommHook = compressedTo('bfloat16');

function compressedTo(dtype: 'float16' | 'bfloat16'): CommHook {
  /** The compressed gradients of each bucket, in the memory of its group; as long-lived as the bucket. */
  const memories = new WeakMap<Float32Array, TypedArrayOf[typeof dtype]>();
  return inBothForms(function* ({ data }, group, average) {
    const bits = memories.get(data) ?? group.allocateSync(dtype, data.length);
    memories.set(data, bits);
    narrowFloat32(data, bits);
    yield average(bits);
    widenToFloat32(bits, data);
  });
}
