import { loadNative } from '@ringrun/native';

/** Instructions that multiply bfloat16. */
export type Bfloat16Instructions = 'avx512-bf16' | 'amx';

/** Those of this processor that products use; undefined if they convert bfloat16 to float32. */
export function bfloat16Instructions(): Bfloat16Instructions | undefined {
  const fastest = loadNative().productKernelNames().at(-1);
  return fastest === 'avx512-bf16' || fastest === 'amx' ? fastest : undefined;
}
