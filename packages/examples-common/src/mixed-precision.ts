/** Description of `--bf16`, an option of every example. */
export const bf16Help = 'compute matrix products, convolutions and attention in bfloat16 (mixed precision)';

/** The option of `compileStep` for `--bf16`. */
export function precisionOf({ bf16 }: { readonly bf16: boolean }): { autocast?: 'bfloat16' } {
  return bf16 ? { autocast: 'bfloat16' } : {};
}
