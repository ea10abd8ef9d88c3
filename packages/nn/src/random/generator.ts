import { mersenne, mersenneFromState } from 'pure-rand/generator/mersenne';
import { ArgumentError } from '../errors.ts';
import { boxMuller16 } from './box-muller.ts';
import { registerRandomState } from './registry.ts';

/** Where a generator is in its sequence: plain data. */
export interface GeneratorState {
  /** Of mt19937: the index of the next word, and the 624 words. */
  mt19937: Int32Array;
  /** The normal number that the next call gives, where one is left over. */
  spareNormal: number | undefined;
}

/**
 * The numbers that torch's CPU generator gives: mt19937, uniform floats from its lowest 24 bits and doubles from the lowest 53 of two numbers
 * (at::uniform_real_distribution), and what torch makes of these.
 * The same seed and the same sequence of calls give the same parameters as in PyTorch.
 */
export class Generator {
  #state: ReturnType<typeof mersenne>;
  /** Box and Muller's transform gives two normal numbers; the second waits here for the next call. */
  #spareNormal: number | undefined;

  constructor(seed: number) {
    this.#state = mersenne(seed % 2 ** 32);
  }

  /** Starts again from `seed`, an integer of 32 bits. */
  manualSeed(seed: number): void {
    this.#state = mersenne(seed % 2 ** 32);
    this.#spareNormal = undefined;
  }

  /** Where the generator is (torch.Generator.get_state): a copy. */
  stateDict(): GeneratorState {
    return { mt19937: Int32Array.from(this.#state.getState()), spareNormal: this.#spareNormal };
  }

  /**
   * Goes on where `stateDict` was taken (torch.Generator.set_state).
   *
   * @throws ArgumentError for what is no such state; nothing is changed then
   */
  loadStateDict({ mt19937, spareNormal }: GeneratorState): void {
    try {
      this.#state = mersenneFromState([...mt19937]);
    } catch {
      throw new ArgumentError(
        'Generator.loadStateDict: mt19937 must be the 625 integers that stateDict() gives, an index and 624 words.',
      );
    }
    this.#spareNormal = spareNormal;
  }

  /** Fills with numbers uniform in [low, high). */
  fillUniform(array: Float32Array, low: number, high: number): void {
    const start = Math.fround(low);
    const range = Math.fround(Math.fround(high) - start);
    for (let i = 0; i < array.length; i += 1) {
      // Computed in double and rounded once, by the array.
      array[i] = this.#uniformFloat() * range + start;
    }
  }

  /**
   * Fills with normal numbers (torch.Tensor.normal_ on the CPU): from 16 elements on 16 at a time, as torch does with AVX2; the last ones, where 16
   * do not divide their number, are drawn anew together with those before.
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

  /**
   * Fills with `value` at a probability, and 0 elsewhere (torch.Tensor.bernoulli_ on the CPU; a torch that is built with Intel's MKL draws
   * other numbers).
   */
  fillBernoulli(array: Float32Array, probability: number, value: number): void {
    for (let i = 0; i < array.length; i += 1) array[i] = this.#uniformDouble() < probability ? value : 0;
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

/** What modules draw their initial parameters from. Differs from process to process until `manualSeed` is called, as torch's does. */
export const defaultGenerator = new Generator(Math.floor(Math.random() * 2 ** 32));
registerRandomState(defaultGenerator);

/** Seeds the default generator (torch.manual_seed): the modules made after it get the same parameters in every process. */
export function manualSeed(seed: number): void {
  defaultGenerator.manualSeed(seed);
}
