import { InvalidArgumentError, requireInteger, requireOptions } from '@ringrun/core';
import type { OptionNames } from '@ringrun/core';
import type { DataShare, IterableDataset, WorkerDataset } from '../dataset.ts';
import { InvalidDataError } from '../datasets/invalid-data-error.ts';
import { Random, mixed } from '../random.ts';
import { readAhead } from './read-ahead.ts';
import { chunksOf, shardUrls } from './shard-urls.ts';
import { shardsInOrder, shareOfShards } from './share-of-shards.ts';
import { shuffled } from './shuffled.ts';
import { tarMembers } from './tar-members.ts';
import type { TarMember } from './tar-members.ts';

/** Options of a {@link ShardDataset}. */
export interface ShardDatasetOptions {
  /** Visit shards and samples in a random order, a new one in each epoch. Default: false. */
  shuffle?: boolean;
  /** Samples among which the next one is chosen at random, at least 1; only with `shuffle`. Default: 1000. */
  bufferSize?: number;
  /** Bytes that each reader reads ahead, including its next shards, at least 1. Default: 16 MiB. */
  prefetchBytes?: number;
}

export const shardOptionNames: OptionNames<ShardDatasetOptions> = {
  shuffle: true,
  bufferSize: true,
  prefetchBytes: true,
};

/** The files of one sample: consecutive members of a tar archive whose paths are equal up to the first dot of the name. */
export interface ShardSample {
  /** Path of the members without their extensions, such as `train/000017`. */
  key: string;
  /** Path or URL of the shard. */
  shard: string;
  /** Contents by extension, in lower case and without the first dot, such as `jpg`, `cls` or `seg.png`. */
  files: Readonly<Partial<Record<string, Uint8Array>>>;
}

/**
 * Samples in tar archives, in the format of WebDataset. Shards are files or objects of a bucket, and are read from start
 * to end, so a dataset may be larger than memory and disk.
 *
 *     new ShardDataset('s3://photos/train-{000..019}.tar', { shuffle: true });
 *
 * Each shard belongs to one worker of one rank in an epoch, so each sample is visited once. Use at least as many shards
 * as there are workers of all ranks, of about equal size. With `shuffle`, the shards are permuted for `seed` + `epoch`
 * of the loader, and each worker chooses its next sample at random from a buffer.
 *
 * Samples are bytes. To decode them in worker threads, write a module for `iterableDatasetFromModule` whose dataset
 * returns `iterate(share)` of this one, and decodes in `batch`. {@link ImageShards} does so for images.
 *
 * A shard that is corrupt ends the loop with an `InvalidDataError` that names shard and member.
 */
export class ShardDataset implements IterableDataset<ShardSample> {
  /** Paths or URLs of the shards, in the order of the patterns. */
  readonly shards: readonly string[];
  readonly #options: Required<ShardDatasetOptions>;

  /**
   * @param shards paths, or `s3://bucket/name`, with braces that are expanded, such as `{000..019}` and `{train,extra}`.
   * Buckets are configured by the environment, as for checkpoints.
   * @throws InvalidArgumentError for an option out of range, no shard, or a shard that occurs twice
   */
  constructor(shards: string | URL | readonly (string | URL)[], options: ShardDatasetOptions = {}) {
    const who = 'ShardDataset';
    requireOptions(who, options, shardOptionNames);
    const { shuffle = false, bufferSize = 1000, prefetchBytes = 2 ** 24 } = options;
    requireInteger(bufferSize, { who, what: 'bufferSize', min: 1 });
    requireInteger(prefetchBytes, { who, what: 'prefetchBytes', min: 1 });
    if (!shuffle && options.bufferSize !== undefined)
      throw new InvalidArgumentError(`${who}: got bufferSize without shuffle: true. Pass both, or neither.`);
    this.shards = shardUrls(shards);
    this.#options = { shuffle, bufferSize, prefetchBytes };
  }

  /** Yields the samples of the shards of one share. */
  async *iterate(share: DataShare): AsyncGenerator<ShardSample, void> {
    const { shuffle, bufferSize } = this.#options;
    const samples = this.#inOrder(shareOfShards(shardsInOrder(this.shards, share, shuffle), share));
    if (!shuffle) {
      yield* samples;
      return;
    }
    yield* shuffled(samples, bufferSize, new Random(mixed(share.seed, share.epoch, share.index)));
  }

  /** How worker threads create this dataset. */
  forWorkers(): WorkerDataset {
    const { shuffle, bufferSize, prefetchBytes } = this.#options;
    const options = shuffle ? { shuffle, bufferSize, prefetchBytes } : { prefetchBytes };
    return { module: import.meta.url, args: [this.shards, options] };
  }

  async *#inOrder(shards: readonly string[]): AsyncGenerator<ShardSample, void> {
    // One read-ahead over all shards: the next one is read before this one ends.
    const chunks = readAhead(chunksOfAll(shards), this.#options.prefetchBytes);
    try {
      for (const shard of shards) yield* samplesOf(shard, tarMembers(shard, untilEnd(chunks)));
    } finally {
      await chunks.return();
    }
  }
}

/** Called by worker threads. */
export function createDataset(shards: readonly string[], options: ShardDatasetOptions): ShardDataset {
  return new ShardDataset(shards, options);
}

const endOfShard = new Uint8Array(0);

/** The chunks of all shards, with an empty one after each shard. */
async function* chunksOfAll(shards: readonly string[]): AsyncGenerator<Uint8Array, void> {
  for (const shard of shards) {
    for await (const chunk of chunksOf(shard)) if (chunk.length > 0) yield chunk;
    yield endOfShard;
  }
}

/** The chunks of one shard. Not `for await`, which would end the read-ahead. */
async function* untilEnd(chunks: AsyncGenerator<Uint8Array, void>): AsyncGenerator<Uint8Array, void> {
  for (;;) {
    const next = await chunks.next();
    if (next.done || next.value === endOfShard) return;
    yield next.value;
  }
}

async function* samplesOf(
  shard: string,
  members: AsyncIterable<TarMember>,
): AsyncGenerator<ShardSample, void> {
  let key: string | undefined;
  // Not an object: an assignment of the extension `__proto__` would set its prototype.
  let files = new Map<string, Uint8Array>();
  const sample = (ownKey: string) => ({ key: ownKey, shard, files: Object.fromEntries(files) });
  for await (const { name, bytes } of members) {
    const found = /^((?:.*\/)?[^./]+)\.([^/]*)$/s.exec(name);
    if (!found) continue;
    const [, ownKey, extension] = found;
    if (ownKey !== key) {
      if (key !== undefined) yield sample(key);
      key = ownKey;
      files = new Map();
    }
    const field = extension.toLowerCase();
    if (files.has(field)) throw twice(shard, name, field);
    files.set(field, bytes);
  }
  if (key !== undefined) yield sample(key);
}

function twice(shard: string, name: string, field: string): InvalidDataError {
  return new InvalidDataError(
    shard,
    `expected one member with the extension ${field} in a sample, got a second one, ${name}`,
    'Give each sample a name of its own before the first dot.',
  );
}
