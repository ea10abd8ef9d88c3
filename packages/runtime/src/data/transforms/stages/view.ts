import { InvalidArgumentError } from '@ringrun/core';
import { loadNative } from '@ringrun/native';
import type { Random } from '../../random.ts';
import { perChannel } from '../arguments.ts';
import type { Pad, RandomVerticalFlip } from '../geometry.ts';
import type { CenterCrop } from '../image-file-transforms.ts';
import { roundedToEven } from '../steps.ts';
import type { RandomCrop, RandomHorizontalFlip } from '../transforms.ts';
import type { ByteImages, ByteStage, ImageShape } from './stage.ts';

/** A transform that selects pixels, or adds borders. */
export type ViewTransform = RandomCrop | CenterCrop | Pad | RandomHorizontalFlip | RandomVerticalFlip;

const kinds: readonly string[] = [
  'RandomCrop',
  'CenterCrop',
  'Pad',
  'RandomHorizontalFlip',
  'RandomVerticalFlip',
] satisfies ViewTransform['kind'][];

export function isViewTransform(transform: { readonly kind: string }): transform is ViewTransform {
  return kinds.includes(transform.kind);
}

/**
 * The visible part of an image: pixel (x, y) of the view is the image's pixel (left + x * right, top + y * down), or
 * lies outside the image.
 */
export interface View {
  top: number;
  left: number;
  /** 1, or -1 if the image is flipped vertically. */
  down: number;
  /** 1, or -1 if the image is flipped horizontally. */
  right: number;
  height: number;
  width: number;
}

/** Consecutive crops, flips and borders as one view. */
export class ViewPlan {
  readonly transforms: ViewTransform[] = [];
  /** The value outside the image for each channel; undefined without borders. */
  border: number[] | undefined;
  readonly #from: ImageShape;
  readonly #fill: number | undefined;
  #height: number;
  #width: number;
  #isCropped = false;

  /** @param fill the value of all borders; default: those of the transforms */
  constructor(from: ImageShape, fill?: number) {
    this.#from = from;
    this.#fill = fill;
    [, this.#height, this.#width] = from;
  }

  /** Shape of the view. */
  get shape(): ImageShape {
    return [this.#from[0], this.#height, this.#width];
  }

  /** Whether a border is between pixels of the image, or of another border, which one view cannot show. */
  refuses(transform: ViewTransform): boolean {
    return (this.#isCropped || this.border !== undefined) && this.#addsBorder(transform);
  }

  /** @throws InvalidArgumentError for a crop that is larger than its input */
  add(transform: ViewTransform): void {
    const { height, width } = this.#sizeAfter(transform);
    if (this.#addsBorder(transform)) {
      const fill = this.#fill ?? (transform.kind === 'Pad' ? transform.fill : 0);
      this.border = perChannel(fill, this.#from[0], transform.kind, 'fill');
    }
    if (transform.kind === 'RandomCrop' || transform.kind === 'CenterCrop') this.#isCropped = true;
    this.transforms.push(transform);
    this.#height = height;
    this.#width = width;
  }

  /** Random numbers are drawn in the order of the transforms: row and column for a crop, one for a flip. */
  draw(random: Random): View {
    const [, height, width] = this.#from;
    const view: View = { top: 0, left: 0, down: 1, right: 1, width, height };
    for (const transform of this.transforms) change(view, transform, random);
    return view;
  }

  #addsBorder(transform: ViewTransform): boolean {
    if (transform.kind === 'RandomCrop') return transform.padding > 0;
    if (transform.kind === 'Pad') return transform.padding.some((pixels) => pixels > 0);
    if (transform.kind !== 'CenterCrop') return false;
    return transform.size[0] > this.#height || transform.size[1] > this.#width;
  }

  #sizeAfter(transform: ViewTransform): { height: number; width: number } {
    const size = { height: this.#height, width: this.#width };
    if (transform.kind === 'CenterCrop') return { height: transform.size[0], width: transform.size[1] };
    if (transform.kind === 'Pad') {
      const [left, top, right, bottom] = transform.padding;
      return { height: size.height + top + bottom, width: size.width + left + right };
    }
    if (transform.kind !== 'RandomCrop') return size;
    const { height, width, padding } = transform;
    if (height <= size.height + 2 * padding && width <= size.width + 2 * padding) return { height, width };
    throw new InvalidArgumentError(
      `RandomCrop: a crop of ${height} x ${width} does not fit in images of ${size.height} x ${size.width} ` +
        `with a padding of ${padding}. Crop less, or pad more.`,
    );
  }
}

function change(view: View, transform: ViewTransform, random: Random): void {
  switch (transform.kind) {
    case 'RandomCrop': {
      const { height, width, padding } = transform;
      const down = random.below(view.height + 2 * padding - height + 1) - padding;
      const right = random.below(view.width + 2 * padding - width + 1) - padding;
      crop(view, down, right, height, width);
      break;
    }
    case 'CenterCrop': {
      const [height, width] = transform.size;
      crop(view, centered(view.height, height), centered(view.width, width), height, width);
      break;
    }
    case 'Pad': {
      const [left, top, right, bottom] = transform.padding;
      crop(view, -top, -left, view.height + top + bottom, view.width + left + right);
      break;
    }
    case 'RandomHorizontalFlip':
      if (random.uniform(0, 1) < transform.p) {
        view.left += (view.width - 1) * view.right;
        view.right = -view.right;
      }
      break;
    case 'RandomVerticalFlip':
      if (random.uniform(0, 1) < transform.p) {
        view.top += (view.height - 1) * view.down;
        view.down = -view.down;
      }
  }
}

function crop(view: View, top: number, left: number, height: number, width: number): void {
  view.top += top * view.down;
  view.left += left * view.right;
  view.height = height;
  view.width = width;
}

/** Where torchvision's crop of `to` pixels begins in `from`; below 0 if a border comes first. */
function centered(from: number, to: number): number {
  return to > from ? -Math.floor((to - from) / 2) : roundedToEven((from - to) / 2);
}

/** The views of images as the addon takes them. */
export function viewRows(indices: ArrayLike<number>, views: readonly View[]): Int32Array {
  const rows = new Int32Array(5 * views.length);
  for (let position = 0; position < views.length; position += 1) {
    const { top, left, down, right } = views[position];
    rows[5 * position] = indices[position];
    rows[5 * position + 1] = top;
    rows[5 * position + 2] = left;
    rows[5 * position + 3] = down;
    rows[5 * position + 4] = right;
  }
  return rows;
}

/** Copies views as bytes. */
export class ViewStage implements ByteStage<View> {
  readonly shape: ImageShape;
  readonly #from: ImageShape;
  readonly #plan: ViewPlan;
  readonly #values: Uint8Array;
  readonly #outside: Uint8Array;

  constructor(from: ImageShape, plan: ViewPlan) {
    this.#from = from;
    this.#plan = plan;
    this.shape = plan.shape;
    this.#values = Uint8Array.from({ length: 256 * from[0] }, (_, position) => position % 256);
    this.#outside = Uint8Array.from(plan.border ?? new Array<number>(from[0]).fill(0));
  }

  draw(random: Random): View {
    return this.#plan.draw(random);
  }

  apply({ pixels, indices }: ByteImages, drawn: readonly View[], to: Uint8Array): void {
    const [, height, width] = this.shape;
    const rows = viewRows(indices, drawn);
    loadNative().lookUpImages(pixels, this.#from, this.#values, this.#outside, rows, [height, width], to);
  }
}
