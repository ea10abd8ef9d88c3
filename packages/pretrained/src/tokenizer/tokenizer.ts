import { InvalidArgumentError, requireOptions, type OptionNames } from '@ringrun/core';
import { modelFiles, type HubOptions } from '../hub/model-files.ts';
import { readJson } from '../hub/read-json.ts';
import { batchOf, type Encoding, type Row } from './batch.ts';
import { createTokenizer, type TokenizerLibrary } from './library.ts';
import { truncated, type Parts } from './truncate.ts';

/** A text, or a pair of texts. */
export type TextInput = string | readonly [text: string, pair: string];

/** Options of {@link tokenizerFromPretrained}. */
export interface TokenizerOptions extends HubOptions {
  /** Token of padding, for tokenizers without one: GPT-2 usually takes `<|endoftext|>`. Default: that of the tokenizer. */
  padToken?: string;
}

/** Options of {@link Tokenizer.encode}. */
export interface EncodeOptions {
  /** Maximum number of tokens, special tokens included; longer texts are cut. Default: `model_max_length` of the tokenizer. */
  maxLength?: number;
  /** Pad to the longest text of the batch, or to `maxLength`. Default: 'longest'. */
  padding?: 'longest' | 'maxLength';
  /**
   * Pad to a multiple of this number, so that batches have few different shapes, for each of which a step is compiled. Default: 1.
   */
  padToMultipleOf?: number;
  /** If true, adds tokens such as `[CLS]` and `[SEP]`. Default: true. */
  addSpecialTokens?: boolean;
}

const tokenizerOptions: OptionNames<TokenizerOptions> = {
  padToken: true,
  revision: true,
  cacheDir: true,
  localFilesOnly: true,
};
const encodeOptions: OptionNames<EncodeOptions> = {
  maxLength: true,
  padding: true,
  padToMultipleOf: true,
  addSpecialTokens: true,
};

/** The part of `tokenizer_config.json` that is read. */
interface TokenizerConfig {
  readonly model_max_length?: number;
  readonly padding_side?: string;
  readonly pad_token?: string | { readonly content: string } | null;
}

/**
 * Loads the tokenizer of a model (transformers.AutoTokenizer.from_pretrained) by the package `@huggingface/tokenizers`.
 *
 * @param nameOrFolder a folder with `tokenizer.json` and `tokenizer_config.json`, or the name of a model: see `fromPretrained`
 * @throws PretrainedError (ERR_PRETRAINED) if files are missing; RingrunError (ERR_PACKAGE_MISSING) without the package;
 *   InvalidArgumentError for invalid options
 */
export async function tokenizerFromPretrained(
  nameOrFolder: string,
  options: TokenizerOptions = {},
): Promise<Tokenizer> {
  const who = 'tokenizerFromPretrained';
  requireOptions(who, options, tokenizerOptions);
  const files = await modelFiles(who, nameOrFolder, options);
  const model = await readJson(await files.get('tokenizer.json'));
  const path = await files.find('tokenizer_config.json');
  const config = path === undefined ? {} : await readJson<TokenizerConfig>(path);
  return new Tokenizer(await createTokenizer(who, model, config), config, options.padToken);
}

/** Makes numbers of texts (transformers.PreTrainedTokenizerFast): see {@link tokenizerFromPretrained}. */
export class Tokenizer {
  /** Numbers of all tokens. */
  readonly vocabulary: ReadonlyMap<string, number>;
  /** Number of the token of padding; undefined if the tokenizer has none. */
  readonly padTokenId: number | undefined;
  /** Maximum number of tokens of a text. */
  readonly maxLength: number;
  readonly #library: TokenizerLibrary;
  readonly #side: 'left' | 'right';

  /** @internal */
  constructor(tokenizer: TokenizerLibrary, config: TokenizerConfig, padToken: string | undefined) {
    this.#library = tokenizer;
    this.#side = config.padding_side === 'left' ? 'left' : 'right';
    this.vocabulary = tokenizer.get_vocab();
    this.maxLength = config.model_max_length ?? Infinity;
    const { pad_token } = config;
    const token = padToken ?? (typeof pad_token === 'string' ? pad_token : pad_token?.content);
    this.padTokenId = token === undefined ? undefined : this.vocabulary.get(token);
    if (padToken !== undefined && this.padTokenId === undefined) {
      throw new InvalidArgumentError(
        `tokenizerFromPretrained: padToken: expected a token of the tokenizer, got ${JSON.stringify(padToken)}.`,
      );
    }
  }

  /**
   * Encodes texts, or pairs of texts, as one batch (transformers.PreTrainedTokenizerBase.__call__ with truncation and padding):
   *
   * ```ts
   * const { inputIds, attentionMask } = tokenizer.encode(['A text', 'Another text']);
   * const scores = model.forward(tensor(inputIds), tensor(attentionMask));
   * ```
   *
   * @throws InvalidArgumentError for invalid options, for `padding: 'maxLength'` without a length, and if padding is needed and
   *   the tokenizer has no token for it
   */
  encode(texts: string | readonly TextInput[], options: EncodeOptions = {}): Encoding {
    requireOptions('encode', options, encodeOptions);
    const { padding = 'longest', padToMultipleOf = 1, addSpecialTokens = true } = options;
    const maxLength = Math.min(options.maxLength ?? Infinity, this.maxLength);
    requirePositive({ maxLength: options.maxLength ?? 1, padToMultipleOf });
    const rows = listed(texts).map((one) => this.#row(one, maxLength, addSpecialTokens));
    const longest = Math.max(1, ...rows.map(({ ids }) => ids.length));
    const least = padding === 'maxLength' ? maxLength : longest;
    if (!(least < 1e9)) {
      throw new InvalidArgumentError(
        "encode: padding: expected a maxLength with 'maxLength', got none. Pass { maxLength: 128 }.",
      );
    }
    const length = Math.ceil(least / padToMultipleOf) * padToMultipleOf;
    if (this.padTokenId === undefined && rows.some(({ ids }) => ids.length < length)) {
      throw new InvalidArgumentError(
        "encode: expected texts of one length, because the tokenizer has no token of padding, got several. Pass one: tokenizerFromPretrained(name, { padToken: '<|endoftext|>' }).",
      );
    }
    return batchOf(rows, { length, token: this.padTokenId ?? 0, side: this.#side });
  }

  /** The text of tokens, by default without special tokens (transformers' decode). */
  decode(
    ids: Iterable<number | bigint>,
    { skipSpecialTokens = true }: { skipSpecialTokens?: boolean } = {},
  ): string {
    const numbers = Array.from(ids, Number);
    return numbers.length === 0
      ? ''
      : this.#library.decode(numbers, { skip_special_tokens: skipSpecialTokens });
  }

  #row(input: TextInput, maxLength: number, addSpecialTokens: boolean): Row {
    const texts = typeof input === 'string' ? [input] : input;
    const parts = texts.map((text) => this.#library.tokenize(text, { add_special_tokens: false }));
    const added = addSpecialTokens
      ? this.#finished(parts.map(() => []) as unknown as Parts, true).tokens.length
      : 0;
    const cut = truncated(parts as unknown as Parts, maxLength - added);
    const { tokens, types } = this.#finished(cut, addSpecialTokens);
    return { ids: tokens.map((token) => this.#idOf(token)), types };
  }

  /** Parts joined, with special tokens. */
  #finished([text, pair]: Parts, addSpecialTokens: boolean): { tokens: string[]; types: readonly number[] } {
    const processor = addSpecialTokens ? this.#library.post_processor : null;
    // A processor returns one list, or two that follow each other.
    const joined = processor?.post_process([...text], pair && [...pair], true);
    const [first, second] = joined ? [joined.tokens, joined.tokens_pair ?? []] : [text, pair ?? []];
    const tokens = [...first, ...second];
    const types = joined?.token_type_ids ?? [...first.map(() => 0), ...second.map(() => 1)];
    return { tokens, types };
  }

  #idOf(token: string): number {
    const id = this.vocabulary.get(token) ?? this.#library.model?.unk_token_id;
    if (id !== undefined) return id;
    throw new InvalidArgumentError(`encode: the tokenizer has no number for ${JSON.stringify(token)}.`);
  }
}

function listed(texts: string | readonly TextInput[]): readonly TextInput[] {
  return typeof texts === 'string' ? [texts] : texts;
}

function requirePositive(numbers: Readonly<Record<string, number>>): void {
  for (const [name, value] of Object.entries(numbers)) {
    if (!Number.isSafeInteger(value) || value < 1)
      throw new InvalidArgumentError(`encode: ${name}: expected a positive integer, got ${String(value)}.`);
  }
}
