// Texts have the numbers that transformers gives them: see golden/make_tokenizers.py.
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tensor } from '@ringrun/nn';
import { describe, expect, test } from 'vitest';
import {
  tokenizerFromPretrained,
  type EncodeOptions,
  type IntArray,
  type TextInput,
} from '../../src/index.ts';
import { goldenFolder } from '../support/golden.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const folder = temporaryFolder();

interface Golden {
  readonly cases: readonly {
    readonly texts: readonly TextInput[];
    readonly options: EncodeOptions;
    readonly input_ids: number[][];
    readonly attention_mask: number[][];
    readonly token_type_ids: number[][];
  }[];
  readonly decoded: { readonly ids: number[]; readonly text: string };
}

function rowsOf({ data, shape: [rows, length] }: IntArray): number[][] {
  const numbers = Array.from(data, Number);
  return Array.from({ length: rows }, (_, i) => numbers.slice(i * length, (i + 1) * length));
}

describe.each(['tokenizer-bert', 'tokenizer-gpt2'])('%s', (name) => {
  const { cases, decoded } = JSON.parse(
    readFileSync(join(goldenFolder(name), 'expected.json'), 'utf8'),
  ) as Golden;

  test.each(cases)('encodes $texts with $options as transformers', async (one) => {
    const tokenizer = await tokenizerFromPretrained(goldenFolder(name));
    const found = tokenizer.encode(one.texts, one.options);
    expect(rowsOf(found.inputIds)).toEqual(one.input_ids);
    expect(rowsOf(found.attentionMask)).toEqual(one.attention_mask);
    expect(rowsOf(found.tokenTypeIds)).toEqual(one.token_type_ids);
    expect(tensor(found.inputIds).shape).toEqual(found.inputIds.shape);
  });

  test('decodes tokens as transformers', async () => {
    const tokenizer = await tokenizerFromPretrained(goldenFolder(name));
    expect(tokenizer.decode(decoded.ids)).toBe(decoded.text);
    expect(tokenizer.decode([])).toBe('');
  });
});

/** GPT-2's tokenizer with other settings. */
function gpt2With(name: string, config: object): string {
  const path = join(folder, name);
  mkdirSync(path);
  copyFileSync(join(goldenFolder('tokenizer-gpt2'), 'tokenizer.json'), join(path, 'tokenizer.json'));
  writeFileSync(join(path, 'tokenizer_config.json'), JSON.stringify(config));
  return path;
}

test('a tokenizer without a token of padding needs one for texts of different lengths', async () => {
  const path = gpt2With('without', { eos_token: '<|endoftext|>' });
  const texts = ['the ring', 'a'];
  const tokenizer = await tokenizerFromPretrained(path);
  expect(tokenizer.encode('the ring').inputIds.shape[0]).toBe(1);
  expect(() => tokenizer.encode(texts)).toThrow(
    "Pass one: tokenizerFromPretrained(name, { padToken: '<|endoftext|>' }).",
  );
  const padded = await tokenizerFromPretrained(path, { padToken: '<|endoftext|>' });
  expect(rowsOf(padded.encode(texts).inputIds)[1].slice(1)).toEqual([0]);
  await expect(tokenizerFromPretrained(path, { padToken: '<none>' })).rejects.toThrow(
    'padToken: expected a token of the tokenizer, got "<none>".',
  );
});

test('padding is on the side that the tokenizer names', async () => {
  const tokenizer = await tokenizerFromPretrained(
    gpt2With('left', { pad_token: { content: '<|endoftext|>' }, padding_side: 'left' }),
  );
  const { attentionMask } = tokenizer.encode(['the ring', 'a'], { padToMultipleOf: 4 });
  expect(rowsOf(attentionMask)).toEqual([
    [0, 0, 1, 1],
    [0, 0, 0, 1],
  ]);
});

test.each([
  [{ maxLength: 0 }, 'maxLength: expected a positive integer, got 0.'],
  [{ padToMultipleOf: 1.5 }, 'padToMultipleOf: expected a positive integer, got 1.5.'],
  [{ padding: 'maxLength' as const }, "expected a maxLength with 'maxLength', got none."],
  [{ max_length: 3 }, 'encode: max_length is not an option. Did you mean maxLength?'],
])('encode refuses %j', async (options, message) => {
  const tokenizer = await tokenizerFromPretrained(gpt2With(`refused-${message.length}`, {}));
  expect(() => tokenizer.encode('a', options as EncodeOptions)).toThrow(message);
});
