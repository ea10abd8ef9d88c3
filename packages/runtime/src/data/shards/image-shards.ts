import { requireOptions } from '@ringrun/core';
import type { BatchMemory, DataPass, DataShare, IterableDataset, WorkerDataset } from '../dataset.ts';
import type { ImageSample } from '../datasets/image-dataset.ts';
import { InvalidDataError } from '../datasets/invalid-data-error.ts';
import { imageExtensions } from '../images/image-extensions.ts';
import { ImageDecoder } from '../images/image-decoder.ts';
import type { ImageFile } from '../images/image-decoder.ts';
import { Compose, ToTensor } from '../transforms/transforms.ts';
import { ShardDataset, shardOptionNames } from './shard-dataset.ts';
import type { ShardDatasetOptions, ShardSample } from './shard-dataset.ts';

/** Options of {@link ImageShards}. */
export interface ImageShardsOptions extends ShardDatasetOptions {
  /** Transforms, of which one is a `ToTensor`. Default: only `ToTensor`. */
  transform?: Compose;
}

/**
 * Labelled images in tar archives, in the format of WebDataset: for each sample an image, such as a member `.jpg`, and a
 * member `.cls` that holds the class, a number from 0, as text. Needs the package sharp.
 *
 *     const train = new ImageShards('s3://photos/train-{000..019}.tar', { shuffle: true });
 *     const loader = new DataLoader(train, { batchSize: 64, numWorkers: 2 });
 *
 * Images are decoded as RGB, in the worker threads. Random transforms depend only on seed, epoch and the name of the
 * sample. The loop throws an `InvalidDataError` that names shard and member if an image cannot be decoded. See
 * {@link ShardDataset} for the order and the shares of ranks and workers.
 */
export class ImageShards implements IterableDataset<ImageSample, ShardSample> {
  /** Paths or URLs of the shards, in the order of the patterns. */
  readonly shards: readonly string[];
  readonly #dataset: ShardDataset;
  readonly #decoder: ImageDecoder;
  readonly #options: ImageShardsOptions;

  /**
   * @param shards as for {@link ShardDataset}
   * @throws InvalidArgumentError for options or transforms that do not fit
   */
  constructor(shards: string | URL | readonly (string | URL)[], options: ImageShardsOptions = {}) {
    requireOptions('ImageShards', options, { ...shardOptionNames, transform: true });
    const { transform = new Compose([new ToTensor()]), ...rest } = options;
    this.#dataset = new ShardDataset(shards, rest);
    this.#decoder = new ImageDecoder(transform.transforms);
    this.#options = { ...rest, transform };
    this.shards = this.#dataset.shards;
  }

  /** Yields the files of the samples of one share. */
  iterate(share: DataShare): AsyncIterable<ShardSample> {
    return this.#dataset.iterate(share);
  }

  /** Decodes and transforms the images of a batch, which share one array. */
  async batch(items: readonly ShardSample[], pass: DataPass, memory?: BatchMemory): Promise<ImageSample[]> {
    return await this.#decoder.decode(items.map(imageFileOf), pass, memory);
  }

  /** How worker threads create this dataset. */
  forWorkers(): WorkerDataset {
    return { module: import.meta.url, args: [this.shards, this.#options] };
  }
}

/** Called by worker threads. */
export function createDataset(shards: readonly string[], options: ImageShardsOptions): ImageShards {
  return new ImageShards(shards, options);
}

const extensions = imageExtensions.map((extension) => extension.slice(1));

function imageFileOf({ key, shard, files }: ShardSample): ImageFile {
  const extension = extensions.find((name) => name in files);
  if (extension === undefined) throw missing(shard, key, `an image (${imageExtensions.join(', ')})`, files);
  if (!files.cls) throw missing(shard, key, 'a class, .cls', files);
  const text = Buffer.from(files.cls).toString('latin1').trim();
  if (!/^\d{1,18}$/.test(text)) {
    throw new InvalidDataError(
      `${shard}: ${key}.cls`,
      `expected the number of a class, got ${JSON.stringify(text.slice(0, 40))}`,
      'Write the class as a number from 0.',
    );
  }
  const identity = Array.from(key, (letter) => letter.codePointAt(0)!);
  return { name: `${shard}: ${key}.${extension}`, bytes: files[extension]!, label: BigInt(text), identity };
}

function missing(shard: string, key: string, what: string, files: ShardSample['files']): InvalidDataError {
  const found = Object.keys(files)
    .map((extension) => `.${extension}`)
    .join(', ');
  return new InvalidDataError(
    `${shard}: ${key}`,
    `expected ${what}, in the sample, got ${found}`,
    'Write the missing member next to the others, with the same name.',
  );
}
