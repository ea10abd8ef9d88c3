const stateLength = 624;
const shiftLength = 397;
const upperBit = 0x80000000;
const lowerBits = 0x7fffffff;
const twist = 0x9908b0df;

/**
 * The Mersenne Twister of Matsumoto and Nishimura (1998), 32 bits: the generator that torch uses on the CPU, so that a seed
 * draws the same numbers here as there.
 */
export class Mt19937 {
  readonly #state = new Uint32Array(stateLength);
  #next = stateLength;

  /** `seed`: an integer from 0; its lowest 32 bits count, as in torch.Generator.manual_seed. */
  constructor(seed: number) {
    const state = this.#state;
    state[0] = seed % 2 ** 32;
    for (let i = 1; i < stateLength; i++) {
      const previous = state[i - 1] ^ (state[i - 1] >>> 30);
      state[i] = Math.imul(1812433253, previous) + i;
    }
  }

  /** The next number, uniform in 0 to 2^32 - 1. */
  nextUint32(): number {
    if (this.#next === stateLength) this.#refill();
    let y = this.#state[this.#next++];
    y ^= y >>> 11;
    y ^= (y << 7) & 0x9d2c5680;
    y ^= (y << 15) & 0xefc60000;
    y ^= y >>> 18;
    return y >>> 0;
  }

  #refill(): void {
    const state = this.#state;
    for (let i = 0; i < stateLength; i++) {
      const y = (state[i] & upperBit) | (state[(i + 1) % stateLength] & lowerBits);
      state[i] = state[(i + shiftLength) % stateLength] ^ (y >>> 1) ^ (y & 1 ? twist : 0);
    }
    this.#next = 0;
  }
}
