export { allReduce, type CommHook, type GradientBucket } from './comm-hook.ts';
export { bf16Compress, fp16Compress } from './compress.ts';
export { powerSgd, type PowerSgdOptions } from './power-sgd.ts';
