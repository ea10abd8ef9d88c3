import type { Dataset } from 'ringrun';
import type { NewsText } from './news.ts';

/** The words of a text as numbers, and its class. */
export interface Tokens {
  tokens: BigInt64Array;
  label: bigint;
}

/** A dataset of tokens: 0 is padding, 1 an unknown word. */
export class Texts implements Dataset<Tokens> {
  readonly #samples: readonly Tokens[];

  constructor(samples: readonly Tokens[]) {
    this.#samples = samples;
  }

  get length(): number {
    return this.#samples.length;
  }

  at(index: number): Tokens {
    return this.#samples[index];
  }
}

/** Four of five texts for training, and the others. */
export interface TextSplit {
  train: Texts;
  heldBack: Texts;
  /** Tokens, with padding and the unknown word. */
  vocabSize: number;
  classes: number;
}

/**
 * Holds back every fifth text, and numbers the words that occur at least twice in the others.
 *
 * @param most maximum number of tokens of a text; longer texts are truncated
 */
export function splitNews(news: readonly NewsText[], most: number): TextSplit {
  const texts = news.map(({ text, label }) => ({ words: wordsOf(text), label }));
  const isHeldBack = (index: number) => index % 5 === 4;
  const train = texts.filter((_, index) => !isHeldBack(index));
  const numbers = vocabularyOf(train.map(({ words }) => words));
  const dataset = (part: typeof texts) =>
    new Texts(
      part.map(({ words, label }) => ({
        tokens: BigInt64Array.from(words.slice(0, most), (word) => numbers.get(word) ?? 1n),
        label: BigInt(label),
      })),
    );
  return {
    train: dataset(train),
    heldBack: dataset(texts.filter((_, index) => isHeldBack(index))),
    vocabSize: numbers.size + 2,
    classes: news.reduce((most, { label }) => Math.max(most, label), 0) + 1,
  };
}

/** At least one word. */
function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[a-z0-9]+/g) ?? [''];
}

/** Numbers from 2 on, in the order in which words first occur. */
function vocabularyOf(texts: readonly (readonly string[])[]): Map<string, bigint> {
  const counts = new Map<string, number>();
  for (const word of texts.flat()) counts.set(word, (counts.get(word) ?? 0) + 1);
  const frequent = [...counts].filter(([, count]) => count > 1);
  return new Map(frequent.map(([word], index) => [word, BigInt(index + 2)]));
}
