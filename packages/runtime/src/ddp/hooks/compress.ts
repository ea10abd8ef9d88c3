import { narrowFloat32, widenToFloat32 } from '@ringrun/collectives';
import type { CommHook, TypedArrayOf } from '@ringrun/core';
import { inBothForms } from './comm-hook.ts';

/**
 * Averages gradients as float16, which halves the bytes sent (torch: fp16_compress_hook). Each rank's
 * gradient is rounded once to 11 significant bits, and so is the average, which is computed in float32.
 * Values beyond 65,504 become infinity; below 2^-14 the resolution is 2^-24.
 */
export const fp16Compress: CommHook = compressedTo('float16');

/** Like `fp16Compress` with bfloat16: the range of float32, 8 significant bits (torch: bf16_compress_hook). */
export const bf16Compress: CommHook = compressedTo('bfloat16');

function compressedTo(dtype: 'float16' | 'bfloat16'): CommHook {
  /** The compressed gradients of each bucket, allocated by its group. They live as long as the bucket. */
  const memories = new WeakMap<Float32Array, TypedArrayOf[typeof dtype]>();
  return inBothForms(function* ({ data }, group, average) {
    const bits = memories.get(data) ?? group.allocateSync(dtype, data.length);
    memories.set(data, bits);
    narrowFloat32(data, bits);
    yield average(bits);
    widenToFloat32(bits, data);
  });
}
