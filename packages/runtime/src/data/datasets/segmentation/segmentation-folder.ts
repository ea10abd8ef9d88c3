import { givenLocation, requireOptions } from '@ringrun/core';
import { openStorage } from '../../../storage/open-storage.ts';
import { compareUtf8 } from '../../../storage/names.ts';
import type { Storage } from '../../../storage/storage.ts';
import type { BatchMemory, DataPass, Dataset, WorkerDataset } from '../../dataset.ts';
import { decodePlanes } from '../../images/decode-planes.ts';
import type { Planes } from '../../images/decode-planes.ts';
import { imageExtensions } from '../../images/image-extensions.ts';
import { mixed } from '../../random.ts';
import { Compose, ToTensor } from '../../transforms/transforms.ts';
import type { Transform } from '../../transforms/transforms.ts';
import { InvalidDataError } from '../invalid-data-error.ts';
import { JointPipeline, requireMaskFill } from './joint-pipeline.ts';
import type { SegmentationSample } from './joint-pipeline.ts';

/** Options of {@link loadSegmentationFolder}. */
export interface LoadSegmentationFolderOptions {
  /** Transforms of images and masks, of which one is a `ToTensor`. Default: only `ToTensor`. */
  transform?: Compose;
  /** Folder of the images. Default: `'images'`. */
  images?: string;
  /** Folder of the masks. Default: `'labels'`. */
  masks?: string;
  /** What the name of a mask has after that of its image and before the extension, such as `'_P'` of CamVid. Default: `''`. */
  maskSuffix?: string;
  /** Class of pixels that rotations and borders bring in, from 0 to 255. Default: 0. */
  maskFill?: number;
}

/** The parameters of a segmentation folder: plain data that worker threads receive. */
interface FolderParts {
  location: string;
  /** Names of the images and of their masks, relative to the location. */
  pairs: readonly (readonly [image: string, mask: string])[];
  transforms: readonly Transform[];
  maskFill: number;
}

/**
 * Images and masks in two folders, as those of CamVid. They are read, decoded and transformed together when they are
 * accessed; see {@link SegmentationDataset}. A mask is a file of gray levels, without loss, whose levels are the classes.
 */
export class SegmentationFolder implements Dataset<SegmentationSample> {
  readonly #parts: FolderParts;
  readonly #storage: Storage;
  /** For images of the last size. */
  #last: { height: number; width: number; pipeline: JointPipeline } | undefined;

  /**
   * Use {@link loadSegmentationFolder}, which finds the images.
   *
   * @internal
   */
  constructor(parts: FolderParts) {
    this.#parts = parts;
    this.#storage = openStorage(parts.location);
  }

  /** Number of images. */
  get length(): number {
    return this.#parts.pairs.length;
  }

  /** Names of the images and of their masks, relative to the location. */
  get pairs(): readonly (readonly [image: string, mask: string])[] {
    return this.#parts.pairs;
  }

  /** Reads and decodes one image and its mask. Rejects as `batch` does. */
  async at(index: number, pass?: DataPass): Promise<SegmentationSample> {
    return (await this.batch([index], pass))[0];
  }

  /**
   * Reads and decodes several images and masks at the same time. Rejects with `RangeError` if an index is out of range,
   * `StorageError` if a file cannot be read, and `InvalidDataError` with its name if it cannot be decoded, is not a mask, or
   * differs in size from the image or from others after the transforms.
   */
  async batch(
    indices: readonly number[],
    { seed, epoch }: DataPass = { seed: 0, epoch: 0 },
    _memory?: BatchMemory,
  ): Promise<SegmentationSample[]> {
    const samples = await Promise.all(
      indices.map(async (index) => {
        if (!(index in this.pairs))
          throw new RangeError(
            `SegmentationFolder: expected an index from 0 to ${this.length - 1}, got ${index}.`,
          );
        const [image, mask] = await this.#decoded(this.pairs[index]);
        const pipeline = this.#pipelineFor(image);
        return pipeline.run(
          image.data,
          mask.data,
          [{ index: 0, seed: mixed(seed, epoch, index) }],
          undefined,
        )[0];
      }),
    );
    const { shape } = samples[0].image;
    const other = samples.findIndex(({ image }) => image.shape.join() !== shape.join());
    if (other < 0) return samples;
    throw new InvalidDataError(
      `${this.#parts.location}/${this.pairs[indices[other]][0]}`,
      `expected images of [${shape.join()}], as others of the batch are, got [${samples[other].image.shape.join()}]`,
      'Put new Resize([height, width]) or another transform that gives all images one size first.',
    );
  }

  /** Worker threads receive the names, and do not list them again. */
  forWorkers(): WorkerDataset {
    return { module: import.meta.url, args: [this.#parts] };
  }

  async #decoded([imageName, maskName]: readonly [string, string]): Promise<[image: Planes, mask: Planes]> {
    const at = (name: string) => `${this.#parts.location}/${name}`;
    const [image, mask] = await Promise.all([
      this.#storage.read(imageName).then((bytes) => decodePlanes(at(imageName), bytes, 'rgb')),
      this.#storage.read(maskName).then((bytes) => decodePlanes(at(maskName), bytes, 'levels')),
    ]);
    if (image.width === mask.width && image.height === mask.height) return [image, mask];
    throw new InvalidDataError(
      at(maskName),
      `expected a mask of ${image.height} x ${image.width} pixels, as its image ${imageName} has, got ${mask.height} x ${mask.width}`,
      'Resize the mask by the nearest pixel, without interpolation.',
    );
  }

  #pipelineFor({ height, width }: Planes): JointPipeline {
    const { transforms, maskFill } = this.#parts;
    if (this.#last?.height !== height || this.#last.width !== width)
      this.#last = { height, width, pipeline: new JointPipeline(transforms, [3, height, width], maskFill) };
    return this.#last.pipeline;
  }
}

/** Called by worker threads. */
export function createDataset(parts: FolderParts): SegmentationFolder {
  return new SegmentationFolder(parts);
}

/**
 * Finds images and their masks, such as `images/0001.png` and `labels/0001_P.png` of CamVid. Decoding needs the package
 * sharp.
 *
 * @param location a folder's path or `file:` URL, or `s3://bucket/prefix`
 * @throws InvalidDataError if no image is found, or one has no mask; InvalidArgumentError if the transforms do not fit each
 * other; StorageError if the folders cannot be listed
 */
export async function loadSegmentationFolder(
  location: string | URL,
  options: LoadSegmentationFolderOptions = {},
): Promise<SegmentationFolder> {
  const who = 'loadSegmentationFolder';
  const names = { transform: true, images: true, masks: true, maskSuffix: true, maskFill: true } as const;
  requireOptions(who, options, names);
  const { transform = new Compose([new ToTensor()]), images = 'images', masks = 'labels' } = options;
  const { maskSuffix = '', maskFill = 0 } = options;
  requireMaskFill(who, maskFill);
  const { transforms } = transform;
  // Files determine the sizes of images. All crops fit into these.
  new JointPipeline(transforms, [3, 2 ** 20, 2 ** 20], maskFill);
  const place = givenLocation(location, who);
  const storage = openStorage(place);
  const maskOf = new Map((await imagesIn(storage, masks)).map((name) => [stemOf(name, masks), name]));
  const pairs = (await imagesIn(storage, images)).map((name) => {
    const mask = maskOf.get(stemOf(name, images) + maskSuffix);
    if (mask !== undefined) return [name, mask] as const;
    throw new InvalidDataError(
      `${place}/${name}`,
      `expected a mask ${masks}/${stemOf(name, images)}${maskSuffix}, got none`,
      'Add the mask, remove the image, or correct the options masks and maskSuffix.',
    );
  });
  if (pairs.length > 0) return new SegmentationFolder({ location: place, pairs, transforms, maskFill });
  throw new InvalidDataError(
    place,
    `expected images (${imageExtensions.join(', ')}) in ${images}, got none`,
    'Check the location and the option images.',
  );
}

async function imagesIn(storage: Storage, folder: string): Promise<string[]> {
  const names: string[] = [];
  for await (const { name, kind } of storage.entries(`${folder}/`))
    if (kind === 'object' && imageExtensions.some((extension) => name.toLowerCase().endsWith(extension)))
      names.push(name);
  return names.sort(compareUtf8);
}

/** The name without folder and extension. */
function stemOf(name: string, folder: string): string {
  return name.slice(folder.length + 1, name.lastIndexOf('.'));
}
