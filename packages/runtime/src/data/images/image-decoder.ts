import type { BatchMemory, DataPass } from '../dataset.ts';
import type { ImageSample } from '../datasets/image-dataset.ts';
import { InvalidDataError } from '../datasets/invalid-data-error.ts';
import { Random, mixed } from '../random.ts';
import type { ImageFileTransform } from '../transforms/image-file-transforms.ts';
import { Pipeline } from '../transforms/pipeline.ts';
import { elementsOf } from '../transforms/stages/stage.ts';
import type { Transform } from '../transforms/transforms.ts';
import { decodeFile, divided } from './decode-file.ts';
import { channels, planes } from './pixels.ts';
import type { Pixels } from './pixels.ts';
import { loadSharp } from './sharp.ts';

/** Larger than all crops. */
const largestSide = 2 ** 24;

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
  #last: { width: number; height: number; pipeline: Pipeline } | undefined;

  /** @throws InvalidArgumentError if the transforms do not fit each other */
  constructor(transforms: readonly Transform[]) {
    [this.#geometry, this.#rest] = divided(transforms);
    // Files determine the sizes of images. All crops fit into these.
    new Pipeline(this.#rest, [channels, largestSide, largestSide]);
  }

  /**
   * The samples of several files, whose images share one array.
   *
   * @throws InvalidDataError that names the file, if it is damaged or its result differs in size from the first one's
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
    const pipelines = images.map((image) => this.#pipelineFor(image));
    const [{ shape }] = pipelines;
    requireOneSize(pipelines, files);
    const size = elementsOf(shape);
    const values =
      memory?.array('Float32Array', size * files.length) ?? new Float32Array(size * files.length);
    return files.map(({ label }, index) => {
      const data = values.subarray(index * size, (index + 1) * size);
      pipelines[index].run(planes(images[index]), [{ index: 0, random: randoms[index] }], data);
      return { image: { data, shape }, label };
    });
  }

  #pipelineFor({ width, height }: Pixels): Pipeline {
    if (this.#last?.width !== width || this.#last.height !== height) {
      this.#last = { width, height, pipeline: new Pipeline(this.#rest, [channels, height, width]) };
    }
    return this.#last.pipeline;
  }
}

function requireOneSize(results: readonly Pipeline[], files: readonly ImageFile[]): void {
  const [, height, width] = results[0].shape;
  const other = results.findIndex(({ shape }) => shape[1] !== height || shape[2] !== width);
  if (other < 0) return;
  const [, otherHeight, otherWidth] = results[other].shape;
  throw new InvalidDataError(
    files[other].name,
    `expected ${height} x ${width} pixels, as ${files[0].name} of the same batch has, got ${otherHeight} x ${otherWidth}`,
    'Put new Resize([height, width]) or another transform that gives all images one size first.',
  );
}

function undecodable(name: string, cause: unknown): unknown {
  if (!(cause instanceof Error)) return cause;
  const problem = `expected a complete image, but it cannot be decoded (${cause.message.trim()})`;
  return new InvalidDataError(name, problem, 'Replace or remove the file.', { cause });
}
