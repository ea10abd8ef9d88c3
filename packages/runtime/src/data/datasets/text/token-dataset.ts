import { InvalidArgumentError, givenPath, requireInteger, requireOptions } from '@ringrun/core';
import type { OptionNames } from '@ringrun/core';
import type { BatchMemory, DataPass, Dataset, WorkerDataset } from '../../dataset.ts';
import { InvalidDataError } from '../invalid-data-error.ts';
import { mappedFile } from './mapped-file.ts';

/** Element type of a file of tokens, little-endian. */
export type TokenType = 'uint8' | 'uint16' | 'uint32' | 'int32' | 'int64';

const arrayTypes = {
  uint8: Uint8Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
  int32: Int32Array,
  int64: BigInt64Array,
} as const satisfies Record<TokenType, unknown>;

/** Tokens in memory. */
export type TokenArray = Uint8Array | Uint16Array | Uint32Array | Int32Array | BigInt64Array;

/** Options of a {@link TokenDataset}. */
export interface TokenDatasetOptions {
  /** Tokens in a window, at least 1: the context length of a model. */
  blockSize: number;
  /** Element type of the file. Default: `'uint16'`. Not allowed with an array, which has its own type. */
  dtype?: TokenType;
  /** Tokens from the start of one window to the start of the next one, at least 1. Default: `blockSize`. */
  stride?: number;
  /** First token to use, such as the start of a validation split. Default: 0. */
  start?: number;
  /** Index after the last token to use. Default: the number of tokens. */
  end?: number;
}

const optionNames: OptionNames<TokenDatasetOptions> = {
  blockSize: true,
  dtype: true,
  stride: true,
  start: true,
  end: true,
};

/** A window of tokens, and for each of them the token that follows it. */
export interface TokenWindow {
  /** `blockSize` tokens, as int64, which embeddings accept. */
  input: BigInt64Array;
  /** `blockSize` tokens, as int64: `input` shifted by one. */
  target: BigInt64Array;
}

/**
 * Windows over one sequence of tokens, to train language models.
 *
 *     const train = new TokenDataset('train.bin', { blockSize: 64, stride: 1, dtype: 'uint16' });
 *     const sampler = new DistributedSampler(train, { replacement: true, numSamples: 2000 * 12 });
 *     for await (const { input, target } of new DataLoader(train, { batchSize: 12, sampler })) …
 *
 * Window `i` begins at token `start + i * stride`. With the default stride windows do not overlap, so each token is
 * predicted once an epoch. With `stride: 1` there is a window at every offset, and a sampler with `replacement` draws
 * random offsets, different ones on each rank.
 *
 * A file holds tokens without a header, as `numpy.ndarray.tofile` writes them. It is mapped into memory, so it may be
 * larger than that, and worker threads and ranks of a host share its pages. It must not be truncated meanwhile.
 */
export class TokenDataset implements Dataset<TokenWindow> {
  readonly length: number;
  /** Tokens in a window. */
  readonly blockSize: number;
  readonly #source: string | TokenArray;
  readonly #options: TokenDatasetOptions;
  readonly #tokens: TokenArray;
  readonly #stride: number;

  /**
   * @param source a file's path or URL, or the tokens
   * @throws InvalidArgumentError for an option out of range, or tokens that are too few for one window; InvalidDataError
   * for a file that ends within a token; StorageError for a file that cannot be read
   */
  constructor(source: string | URL | TokenArray, options: TokenDatasetOptions) {
    const who = 'TokenDataset';
    requireOptions(who, options, optionNames);
    const { blockSize, stride = blockSize, start = 0 } = options;
    this.blockSize = requireInteger(blockSize, { who, what: 'blockSize', min: 1 });
    this.#stride = requireInteger(stride, { who, what: 'stride', min: 1 });
    this.#source = typeof source === 'string' || source instanceof URL ? givenPath(source, who) : source;
    this.#options = options;
    const all = tokensOf(this.#source, options.dtype);
    const end = requireInteger(options.end ?? all.length, { who, what: 'end', min: 0, max: all.length });
    requireInteger(start, { who, what: 'start', min: 0, max: end });
    this.#tokens = all.subarray(start, end);
    // The last token is only a target.
    this.length = Math.max(0, Math.floor((end - start - 1 - blockSize) / this.#stride) + 1);
    if (this.length === 0) {
      const name = typeof this.#source === 'string' ? this.#source : 'the array';
      throw new InvalidArgumentError(
        `${who}: expected at least blockSize + 1 = ${blockSize + 1} tokens, got ${end - start} of ${name}. Use a smaller blockSize, or more tokens.`,
      );
    }
  }

  /** Returns the window at `index`, in its own memory. Throws a `RangeError` if `index` is out of range. */
  at(index: number): TokenWindow {
    return this.batch([index])[0];
  }

  /** Returns several windows, whose inputs and targets share one array each. */
  batch(indices: readonly number[], _pass?: DataPass, memory?: BatchMemory): TokenWindow[] {
    for (const index of indices) this.#requireInside(index);
    const { blockSize } = this;
    const values = indices.length * blockSize;
    const newArray = () => memory?.array('BigInt64Array', values) ?? new BigInt64Array(values);
    const [inputs, targets] = [newArray(), newArray()];
    return indices.map((index, position) => {
      const begin = index * this.#stride;
      const place = [position * blockSize, (position + 1) * blockSize] as const;
      const [input, target] = [inputs.subarray(...place), targets.subarray(...place)];
      widen(this.#tokens.subarray(begin, begin + blockSize), input);
      widen(this.#tokens.subarray(begin + 1, begin + 1 + blockSize), target);
      return { input, target };
    });
  }

  /** A thread maps the file again, which shares its pages. An array is shared if it is in a SharedArrayBuffer. */
  forWorkers(): WorkerDataset {
    return { module: import.meta.url, args: [this.#source, this.#options] };
  }

  #requireInside(index: number): void {
    if (Number.isInteger(index) && index >= 0 && index < this.length) return;
    throw new RangeError(`TokenDataset: expected an index from 0 to ${this.length - 1}, got ${index}.`);
  }
}

/** Called by worker threads. */
export function createDataset(source: string | TokenArray, options: TokenDatasetOptions): TokenDataset {
  return new TokenDataset(source, options);
}

function tokensOf(source: string | TokenArray, dtype: TokenType | undefined): TokenArray {
  if (typeof source === 'string') return tokensIn(source, dtype ?? 'uint16');
  const types: readonly (new (length: number) => TokenArray)[] = Object.values(arrayTypes);
  if (!types.some((type) => (source as unknown) instanceof type)) {
    throw new InvalidArgumentError(
      `TokenDataset: expected a path, or an array of type ${Object.keys(arrayTypes).join(', ')}, got ${Object.prototype.toString.call(source)}.`,
    );
  }
  if (dtype === undefined) return source;
  throw new InvalidArgumentError(
    `TokenDataset: dtype: expected it only with a file, got '${dtype}' with an array, which has its own type. Leave it out.`,
  );
}

function tokensIn(path: string, dtype: TokenType): TokenArray {
  if (!Object.hasOwn(arrayTypes, dtype)) {
    throw new InvalidArgumentError(
      `TokenDataset: dtype: expected one of ${Object.keys(arrayTypes).join(', ')}, got '${dtype}'.`,
    );
  }
  const { buffer, byteLength } = mappedFile(path);
  const { BYTES_PER_ELEMENT: width } = arrayTypes[dtype];
  if (byteLength % width === 0) return new arrayTypes[dtype](buffer);
  throw new InvalidDataError(
    path,
    `expected tokens of type ${dtype}, ${width} bytes each, got ${byteLength} bytes`,
    'Write the file again, or correct dtype.',
  );
}

/** Writes `tokens` as int64. Word by word, because a bigint of each token would be an object. */
function widen(tokens: TokenArray, target: BigInt64Array): void {
  if (tokens instanceof BigInt64Array) {
    target.set(tokens);
    return;
  }
  const words = new Int32Array(target.buffer, target.byteOffset, 2 * target.length);
  for (let i = 0; i < tokens.length; i += 1) {
    const token = tokens[i];
    words[2 * i] = token;
    words[2 * i + 1] = token < 0 ? -1 : 0;
  }
}
