import { registry } from '@ringrun/core';
import { mersenne, mersenneFromState } from 'pure-rand/generator/mersenne';
import { ArgumentError } from '../errors/errors.ts';
import { boxMuller16 } from './box-muller.ts';

/** State of a generator, as plain data. */
export interface GeneratorState {
  /** State of mt19937: the index of the next word, and the 624 words. */
  mt19937: Int32Array;
  /** The second normal number of the last Box-Muller pair, if it is unused. */
  spareNormal: number | undefined;
}

/**
 * torch's CPU generator: mt19937, with uniform floats from the lowest 24 bits and doubles from the lowest 53 bits of two
 * numbers (at::uniform_real_distribution). The same seed and sequence of calls give the same parameters as PyTorch.
 */
export class Generator {
  #state: ReturnType<typeof mersenne>;
  /** The Box-Muller transform returns two normal numbers; the second is kept for the next call. */
  #spareNormal: number | undefined;

  constructor(seed: number) {
    this.#state = mersenne(seed % 2 ** 32);
  }

  /** Resets the generator to `seed`, a 32-bit integer. */
  manualSeed(seed: number): void {
    this.#state = mersenne(seed % 2 ** 32);
    this.#spareNormal = undefined;
  }

  /** A copy of the generator's state (torch.Generator.get_state). */
  stateDict(): GeneratorState {
    return { mt19937: Int32Array.from(this.#state.getState()), spareNormal: this.#spareNormal };
  }

  /**
   * Restores a state from `stateDict` (torch.Generator.set_state).
   *
   * @throws ArgumentError for an invalid state; nothing is changed in this case
   */
  loadStateDict(state: GeneratorState): void {
    const { mt19937, spareNormal } = { ...(state as Partial<GeneratorState> | null) };
    if (spareNormal !== undefined && !Number.isFinite(spareNormal))
      throw new ArgumentError('Generator.loadStateDict: spareNormal must be a finite number or undefined.');
    try {
      if (!(mt19937 instanceof Int32Array)) throw new TypeError('no Int32Array');
      this.#state = mersenneFromState([...mt19937]);
    } catch {
      throw new ArgumentError(
        'Generator.loadStateDict: mt19937 must be the 625 integers of stateDict(): an index and 624 words.',
      );
    }
    this.#spareNormal = spareNormal;
  }

  /** Fills with numbers uniform in [low, high). */
  fillUniform(array: Float32Array, low: number, high: number): void {
    const start = Math.fround(low);
    const range = Math.fround(Math.fround(high) - start);
    for (let i = 0; i < array.length; i += 1) {
      // Computed in double precision and rounded once, by the array.
      array[i] = this.#uniformFloat() * range + start;
    }
  }

  /**
   * Fills with normal numbers (torch.Tensor.normal_ on the CPU). As in torch with AVX2, arrays of at least 16 elements are
   * filled 16 at a time; if the length is not a multiple of 16, the last 16 are drawn again.
   */
  fillNormal(array: Float32Array, mean: number, std: number): void {
    const { length } = array;
    if (length < 16) {
      for (let i = 0; i < length; i += 1) array[i] = this.#normal() * std + mean;
      return;
    }
    const [center, spread] = [Math.fround(mean), Math.fround(std)];
    this.fillUniform(array, 0, 1);
    for (let start = 0; start + 16 <= length; start += 16) boxMuller16(array, start, center, spread);
    if (length % 16 === 0) return;
    this.fillUniform(array.subarray(length - 16), 0, 1);
    boxMuller16(array, length - 16, center, spread);
  }

  /** The numbers from 0 to `count` − 1 in random order (torch.randperm). */
  permutation(count: number): Uint32Array {
    const order = Uint32Array.from({ length: count }, (_, i) => i);
    for (let i = 0; i < count - 1; i += 1) {
      const other = i + ((this.#state.next() >>> 0) % (count - i));
      [order[i], order[other]] = [order[other], order[i]];
    }
    return order;
  }

  /** Returns 64 random bits, a key for a counter-based generator. */
  nextKey(): bigint {
    const low = BigInt(this.#state.next() >>> 0);
    return (BigInt(this.#state.next() >>> 0) << 32n) | low;
  }

  /** Returns an integer from 0 to `range` − 1, as torch.randint draws it: from 32 random bits below 2²⁸, else from 64. */
  nextBelow(range: number): bigint {
    const high = this.#state.next() >>> 0;
    if (range < 2 ** 28) return BigInt(high % range);
    return ((BigInt(high) << 32n) | BigInt(this.#state.next() >>> 0)) % BigInt(range);
  }

  #uniformFloat(): number {
    return (this.#state.next() & 0xffffff) * 2 ** -24;
  }

  #uniformDouble(): number {
    const high = this.#state.next() & 0x1fffff;
    const low = this.#state.next() >>> 0;
    return (high * 2 ** 32 + low) * 2 ** -53;
  }

  #normal(): number {
    if (this.#spareNormal !== undefined) {
      const spare = this.#spareNormal;
      this.#spareNormal = undefined;
      return spare;
    }
    const angle = 2 * Math.PI * this.#uniformDouble();
    const radius = Math.sqrt(-2 * Math.log1p(-this.#uniformDouble()));
    this.#spareNormal = radius * Math.sin(angle);
    return radius * Math.cos(angle);
  }
}

/** Generator of initial parameters. Seeded randomly in each process until `manualSeed` is called, as in torch. */
export const defaultGenerator = new Generator(Math.floor(Math.random() * 2 ** 32));
// For a bit-identical dropout after resuming.
registry.randomStates.set('nn', defaultGenerator);

/** Seeds the default generator (torch.manual_seed): modules created afterwards have the same parameters in every process. */
export function manualSeed(seed: number): void {
  defaultGenerator.manualSeed(seed);
}
