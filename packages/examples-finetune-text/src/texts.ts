import { readFile } from 'node:fs/promises';
import { InvalidArgumentError, type Dataset } from 'ringrun';

/** A text and its class. */
export interface LabelledText {
  text: string;
  label: number;
}

/** Texts in memory. */
export class Texts implements Dataset<LabelledText> {
  readonly length: number;
  readonly #texts: readonly LabelledText[];

  constructor(texts: readonly LabelledText[]) {
    this.#texts = texts;
    this.length = texts.length;
  }

  at(index: number): LabelledText {
    return this.#texts[index];
  }
}

/** The texts of a file with a JSON object `{ "text": …, "label": … }` in each line; labels are 0, 1, … */
export async function readTexts(path: string): Promise<LabelledText[]> {
  const lines = (await readFile(path, 'utf8')).split('\n').filter((line) => line.trim() !== '');
  return lines.map((line, index) => {
    const { text, label } = JSON.parse(line) as Partial<LabelledText>;
    if (typeof text === 'string' && Number.isSafeInteger(label) && label! >= 0)
      return { text, label: label! };
    throw new InvalidArgumentError(
      `${path}: line ${index + 1}: expected { "text": "…", "label": 0 }, got ${line.slice(0, 80)}.`,
    );
  });
}

/** Sentences that praise (class 1) or blame (class 0), of which every fifth is for testing. */
export function syntheticTexts(): { train: LabelledText[]; test: LabelledText[] } {
  const [nouns, praise, blame] = [
    'film book play song story',
    'great lovely brilliant moving',
    'dull awful boring weak',
  ].map((words) => words.split(' '));
  const all = nouns.flatMap((noun) =>
    [praise, blame].flatMap((words, kind) =>
      words.flatMap((a) => words.map((b) => ({ text: `the ${noun} was ${a} and ${b}`, label: 1 - kind }))),
    ),
  );
  return { train: all.filter((_, i) => i % 5 !== 0), test: all.filter((_, i) => i % 5 === 0) };
}

/** Words as tokens, for a model without a tokenizer: 0 is padding, 1 the start, 2 an unknown word. */
export function wordTokens(
  vocabulary: readonly string[],
  texts: readonly string[],
  length: number,
): BigInt64Array {
  const numbers = new Map(vocabulary.map((word, number) => [word, BigInt(number + 3)]));
  const ids = new BigInt64Array(texts.length * length);
  for (const [row, text] of texts.entries()) {
    const words = text.split(' ').map((word) => numbers.get(word) ?? 2n);
    ids.set([1n, ...words].slice(0, length), row * length);
  }
  return ids;
}
