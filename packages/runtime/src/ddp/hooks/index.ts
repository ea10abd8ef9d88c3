export type { CommHook, GradientBucket } from '@ringrun/core';
export { allReduce } from './comm-hook.ts';
export { bf16Compress, fp16Compress } from './compress.ts';
export { powerSgd, type PowerSgdOptions } from './power-sgd.ts';
export { int4Compress, int8Compress, type QuantizeOptions } from './quantize.ts';
