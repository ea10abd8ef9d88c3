import { mersenne } from 'pure-rand/generator/mersenne';

/**
 * A random permutation of 0 to `length` - 1: element by element that of
 * `torch.randperm(length, generator=torch.Generator().manual_seed(seed))` on the CPU, which draws from the Mersenne Twister.
 *
 * Equal to torch's below 2^32 / 20 elements, from where newer releases draw 64 bits for each.
 *
 * @param seed an integer; its lowest 32 bits count, those of 2^64 + seed where it is negative, as in torch.Generator.manual_seed
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
