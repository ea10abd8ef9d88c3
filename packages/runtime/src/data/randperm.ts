import { mersenne } from 'pure-rand/generator/mersenne';

/**
 * Returns a random permutation of 0 to `length` - 1. It equals `torch.randperm(length,
 * generator=torch.Generator().manual_seed(seed))` on the CPU, which uses the Mersenne Twister.
 *
 * From 2^32 / 20 elements on it differs from newer releases of torch, which use 64 bits per element.
 *
 * @param seed an integer; its lowest 32 bits are used (of 2^64 + seed if it is negative, as in
 * torch.Generator.manual_seed)
 */
export function randperm(length: number, seed: number | bigint): Uint32Array {
  const generator = mersenne(Number(BigInt.asUintN(32, BigInt(seed))));
  const permutation = Uint32Array.from({ length }, (_, index) => index);
  for (let i = 0; i < length - 1; i++) {
    const j = i + ((generator.next() >>> 0) % (length - i));
    const swapped = permutation[i];
    permutation[i] = permutation[j];
    permutation[j] = swapped;
  }
  return permutation;
}
