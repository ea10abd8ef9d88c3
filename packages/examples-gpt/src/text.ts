import type { Dataset } from 'ringrun';

/** A text as numbers of its characters: nine tenths for training, the rest for validation. */
export interface Corpus {
  /** By number, in the order of their code points. */
  characters: readonly string[];
  train: BigInt64Array;
  validation: BigInt64Array;
}

/** 40,000 characters of English sentences, each a word of every list. */
export function syntheticText(): string {
  const lists = ['The A One', 'old young kind', 'king queen fool', 'sees calls follows', 'me you them'];
  const words = lists.map((list) => list.split(' '));
  const sentence = (number: number) =>
    words.map((list, place) => list[Math.floor(number / 3 ** place) % 3]).join(' ');
  return Array.from({ length: 1600 }, (_, i) => `${sentence((i * 89) % 243)}.\n`).join('');
}

export function characterCorpus(text: string): Corpus {
  const characters = [...new Set(text)].sort();
  const numbers = new Map(characters.map((character, number) => [character, BigInt(number)]));
  const tokens = BigInt64Array.from(text, (character) => numbers.get(character)!);
  const cut = Math.floor(0.9 * tokens.length);
  return { characters, train: tokens.subarray(0, cut), validation: tokens.subarray(cut) };
}

/** Windows of a text, and the next token of each of their tokens. */
export class Windows implements Dataset<{ input: BigInt64Array; target: BigInt64Array }> {
  readonly length: number;
  readonly #windowAt: (index: number) => { input: BigInt64Array; target: BigInt64Array };

  /** `length` windows of `size` tokens. By default they are consecutive; `startOf` returns the first token of each. */
  constructor(
    tokens: BigInt64Array,
    size: number,
    length = Math.floor((tokens.length - 1) / size),
    startOf = (index: number) => index * size,
  ) {
    this.length = length;
    this.#windowAt = (index) => {
      const start = startOf(index);
      return {
        input: tokens.subarray(start, start + size),
        target: tokens.subarray(start + 1, start + 1 + size),
      };
    };
  }

  /**
   * Windows `from` to `until` (exclusive) of a sequence that scatters them evenly over the text: multiples of the golden ratio.
   * Default: all of it, for as many steps as a training has.
   */
  static scattered(
    tokens: BigInt64Array,
    size: number,
    { from = 0, until = 2 ** 31 }: { from?: number; until?: number } = {},
  ): Windows {
    const fraction = (index: number) => (Math.imul(index, 0x9e3779b1) >>> 0) / 2 ** 32;
    const startOf = (index: number) => Math.floor(fraction(from + index) * (tokens.length - size));
    return new Windows(tokens, size, until - from, startOf);
  }

  at(index: number) {
    return this.#windowAt(index);
  }
}
