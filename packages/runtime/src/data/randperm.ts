import { Mt19937 } from './mt19937.ts';

/**
 * A random permutation of 0 to `length` - 1: element by element that of
 * `torch.randperm(length, generator=torch.Generator().manual_seed(seed))` on the CPU.
 *
 * Equal to torch's below 2^32 / 20 elements, from where newer releases draw 64 bits for each.
 */
export function randperm(length: number, seed: number): Uint32Array {
  const generator = new Mt19937(seed);
  const permutation = Uint32Array.from({ length }, (_, index) => index);
  for (let i = 0; i < length - 1; i++) {
    const j = i + (generator.nextUint32() % (length - i));
    const swapped = permutation[i];
    permutation[i] = permutation[j]!;
    permutation[j] = swapped;
  }
  return permutation;
}
