import type { BatchMemory, DataPass } from '../dataset.ts';
import type { ImageSample } from '../datasets/image-dataset.ts';
import { InvalidDataError } from '../datasets/invalid-data-error.ts';
import { Random, mixed } from '../random.ts';
import type { ImageFileTransform } from '../transforms/image-file-transforms.ts';
import { Pipeline } from '../transforms/pipeline.ts';
import type { Transform } from '../transforms/transforms.ts';
import { decodeFile, divided } from './decode-file.ts';
import { channels } from './pixels.ts';
import type { Pixels } from './pixels.ts';
import { loadSharp } from './sharp.ts';

/** An image file and its class. */
export interface ImageFile {
  /** Its path, for errors. */
  name: string;
  bytes: Uint8Array;
  label: bigint;
  /** Integers that identify the image: random transforms depend on them, and on seed and epoch. */
  identity: readonly number[];
}

/** Decodes and transforms batches of image files. */
export class ImageDecoder {
  readonly #geometry: readonly ImageFileTransform[];
  readonly #rest: readonly Transform[];
  /** For images of the last size. */
  #pipeline: { width: number; height: number; run: Pipeline } | undefined;

  /** @throws InvalidArgumentError if the transforms do not fit each other */
  constructor(transforms: readonly Transform[]) {
    [this.#geometry, this.#rest] = divided(transforms);
    // Checks everything except sizes, which files determine.
    new Pipeline(
      this.#rest.filter(({ kind }) => kind !== 'RandomCrop'),
      [channels, 1, 1],
    );
  }

  /**
   * The samples of several files, whose images share one array.
   *
   * @throws InvalidDataError that names the file, if it is damaged or differs in size from the first one
   */
  async decode(files: readonly ImageFile[], pass: DataPass, memory?: BatchMemory): Promise<ImageSample[]> {
    const sharp = await loadSharp();
    const randoms = files.map(({ identity }) => new Random(mixed(pass.seed, pass.epoch, ...identity)));
    const images = await Promise.all(
      files.map(async ({ name, bytes }, index) => {
        try {
          return await decodeFile(sharp, bytes, this.#geometry, randoms[index]);
        } catch (error) {
          throw undecodable(name, error);
        }
      }),
    );
    requireOneSize(images, files);
    const pipeline = this.#pipelineFor(images[0]);
    const size = pipeline.shape.reduce((product, length) => product * length, 1);
    const values =
      memory?.array('Float32Array', size * files.length) ?? new Float32Array(size * files.length);
    const wanted = randoms.map((random, index) => ({ index, random }));
    pipeline.run(planes(images), wanted, values);
    return files.map(({ label }, index) => {
      const data = values.subarray(index * size, (index + 1) * size);
      return { image: { data, shape: pipeline.shape }, label };
    });
  }

  #pipelineFor({ width, height }: Pixels): Pipeline {
    if (this.#pipeline?.width !== width || this.#pipeline.height !== height) {
      this.#pipeline = { width, height, run: new Pipeline(this.#rest, [channels, height, width]) };
    }
    return this.#pipeline.run;
  }
}

/** [image, row, column, channel] to [image, channel, row, column]. */
function planes(images: readonly Pixels[]): Uint8Array {
  const plane = images[0].width * images[0].height;
  const pixels = new Uint8Array(images.length * channels * plane);
  let begin = 0;
  for (const { data } of images) {
    for (let channel = 0; channel < channels; channel += 1) {
      for (let from = channel; from < data.length; from += channels) pixels[begin++] = data[from];
    }
  }
  return pixels;
}

function requireOneSize(images: readonly Pixels[], files: readonly ImageFile[]): void {
  const [{ width, height }] = images;
  const other = images.findIndex((image) => image.width !== width || image.height !== height);
  if (other < 0) return;
  throw new InvalidDataError(
    files[other].name,
    `expected ${height} x ${width} pixels, as ${files[0].name} of the same batch has, got ${images[other].height} x ${images[other].width}`,
    'Put new Resize([height, width]) or another transform that gives all images one size first.',
  );
}

function undecodable(name: string, cause: unknown): unknown {
  if (!(cause instanceof Error)) return cause;
  const problem = `expected a complete image, but it cannot be decoded (${cause.message.trim()})`;
  return new InvalidDataError(name, problem, 'Replace or remove the file.', { cause });
}
