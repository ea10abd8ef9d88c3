import { InvalidArgumentError } from '@ringrun/core';
import { isViewTransform, ViewPlan, ViewStage } from './stages/view.ts';
import type { ViewTransform } from './stages/view.ts';
import { ColorStage } from './stages/colors.ts';
import { NearestResizeStage, UnchangedStage } from './stages/mask.ts';
import { EraseStage } from './stages/erase.ts';
import { PadStage } from './stages/pad.ts';
import { ResizeStage } from './stages/resize.ts';
import type { ByteStage, ImageShape } from './stages/stage.ts';
import { WarpStage } from './stages/warp.ts';
import { Pad } from './geometry.ts';
import type { RandomErasing } from './random-erasing.ts';
import { RandomCrop } from './transforms.ts';
import type { Normalize, Transform } from './transforms.ts';

/** The stages of a list of transforms. */
export interface Plan {
  /** Before the look-up, in order. */
  bytes: readonly ByteStage[];
  /** The last view, whose pixels are looked up. */
  view: ViewPlan;
  /** Shape of the last stage's results, of which `view` is a view. */
  viewed: ImageShape;
  /** The values of bytes 0 to 255, per channel. */
  values: Float32Array;
  /** The value outside the last view's images, per channel. */
  outside: Float32Array;
  /** After the look-up, in order. */
  erasures: readonly EraseStage[];
}

/** How masks are transformed. */
export interface MaskPlan {
  /** Class of pixels outside of the image, from 0 to 255. */
  fill: number;
}

/**
 * Cuts transforms into stages. Crops, flips and borders only select pixels, so consecutive ones are one view. ToTensor and
 * Normalize depend only on a pixel's byte and channel, so they are a table of 256 values per channel, which is looked up
 * while the last view is copied.
 *
 * @param mask for masks, which keep their classes: pixels are moved as those of the images are, colours are not changed, and
 * values are the bytes
 * @throws InvalidArgumentError if the transforms do not fit each other or the images
 */
export function planOf(transforms: readonly Transform[], from: ImageShape, mask?: MaskPlan): Plan {
  const planner = new Planner(from, mask);
  for (const transform of transforms) planner.add(transform);
  return planner.plan();
}

interface Table {
  values: number[];
  /** Undefined without borders. */
  outside: number | undefined;
}

class Planner {
  readonly #bytes: ByteStage[] = [];
  readonly #erasures: EraseStage[] = [];
  #viewed: ImageShape;
  #view: ViewPlan;
  /** From ToTensor on. */
  #tables: Table[] | undefined;
  /** Whether the view has transforms that come after ToTensor. */
  #viewsTensor = false;
  readonly #mask: MaskPlan | undefined;

  constructor(from: ImageShape, mask: MaskPlan | undefined) {
    this.#viewed = from;
    this.#mask = mask;
    this.#view = new ViewPlan(from, mask?.fill);
  }

  add(transform: Transform): void {
    if (isViewTransform(transform)) this.#addView(this.#withoutOwnPixels(transform));
    else if (transform.kind === 'ToTensor') this.#toTensor();
    else if (transform.kind === 'Normalize') this.#normalize(transform);
    else if (transform.kind === 'RandomErasing') this.#erase(transform);
    else this.#addStage(transform);
  }

  plan(): Plan {
    const tables = this.#tables;
    if (!tables)
      throw new InvalidArgumentError(
        'Compose: expected a ToTensor among the transforms, got none. Add new ToTensor().',
      );
    return {
      bytes: this.#bytes,
      view: this.#view,
      viewed: this.#viewed,
      values: Float32Array.from(tables.flatMap(({ values }) => values)),
      outside: Float32Array.from(tables, ({ outside = 0 }) => outside),
      erasures: this.#erasures,
    };
  }

  /** Adds the border of a transform that shows the image's own pixels as a stage, and returns what is left of the transform. */
  #withoutOwnPixels(transform: ViewTransform): ViewTransform {
    if (transform.kind !== 'Pad' && transform.kind !== 'RandomCrop') return transform;
    const { kind, paddingMode, padding } = transform;
    if (paddingMode === 'constant' || padding === 0) return transform;
    if (this.#tables)
      throw new InvalidArgumentError(
        `${kind}: expected paddingMode '${paddingMode}' before ToTensor, got it after. Put ${kind} before ToTensor.`,
      );
    this.#flush();
    const sides = typeof padding === 'number' ? ([padding, padding, padding, padding] as const) : padding;
    this.#push(new PadStage(this.#viewed, { padding: sides, paddingMode }, kind));
    return kind === 'Pad' ? new Pad(0) : new RandomCrop([transform.height, transform.width]);
  }

  #addView(transform: ViewTransform): void {
    const { kind } = transform;
    if (this.#erasures.length > 0)
      throw new InvalidArgumentError(
        `${kind}: expected it before RandomErasing, got it after. Put ${kind} before RandomErasing.`,
      );
    if (this.#view.refuses(transform)) {
      if (this.#viewsTensor)
        throw new InvalidArgumentError(
          `${kind}: expected at most one border after ToTensor, and before crops, got more. Put ${kind} before ToTensor.`,
        );
      this.#flush();
    }
    if (!this.#tables && transform.kind === 'Pad') requireLevels(transform.fill);
    const before = this.#view.border;
    this.#view.add(transform);
    const { border } = this.#view;
    this.#viewsTensor ||= this.#tables !== undefined;
    if (border === before) return;
    for (const [channel, table] of this.#tables?.entries() ?? []) table.outside = border?.[channel];
  }

  #addStage(transform: Exclude<Transform, ViewTransform | Normalize | RandomErasing | { kind: 'ToTensor' }>) {
    const { kind } = transform;
    if (this.#tables)
      throw new InvalidArgumentError(
        `${kind}: expected it before ToTensor, got it after. Put ${kind} before ToTensor.`,
      );
    this.#flush();
    const from = this.#viewed;
    const mask = this.#mask;
    if (kind === 'Resize' || kind === 'RandomResizedCrop')
      this.#push(mask ? new NearestResizeStage(from, transform) : new ResizeStage(from, transform));
    else if (kind === 'RandomRotation' || kind === 'RandomAffine')
      this.#push(new WarpStage(from, transform, mask));
    else this.#push(mask ? new UnchangedStage(from, transform) : new ColorStage(from, transform));
  }

  #toTensor(): void {
    if (this.#tables)
      throw new InvalidArgumentError('Compose: expected one ToTensor, got two. Remove one of them.');
    const bytes = Array.from({ length: 256 }, (_, byte) => byte);
    const { border, shape } = this.#view;
    this.#tables = Array.from({ length: shape[0] }, (_, channel) => ({
      values: bytes,
      outside: border?.[channel],
    }));
    if (!this.#mask) this.#map((value) => value / 255);
  }

  #normalize({ mean, std }: Normalize): void {
    if (this.#mask) return;
    const channels = this.#viewed[0];
    if (!this.#tables)
      throw new InvalidArgumentError('Compose: expected ToTensor before Normalize. Put ToTensor first.');
    if (mean.length !== channels)
      throw new InvalidArgumentError(
        `Normalize: expected mean and std of ${channels} channels, got ${mean.length}. Pass one number per channel.`,
      );
    this.#map((value, channel) => (value - mean[channel]) / std[channel]);
  }

  #erase(transform: RandomErasing): void {
    if (this.#mask) return;
    if (!this.#tables)
      throw new InvalidArgumentError(
        'RandomErasing: expected it after ToTensor, got it before. Put ToTensor before RandomErasing.',
      );
    this.#erasures.push(new EraseStage(this.#view.shape, transform));
  }

  #map(change: (value: number, channel: number) => number): void {
    this.#tables = this.#tables!.map(({ values, outside }, channel) => ({
      values: values.map((value) => change(value, channel)),
      outside: outside === undefined ? undefined : change(outside, channel),
    }));
    for (const { maps } of this.#erasures) maps.push(change);
  }

  /** Ends the view, which becomes a stage of bytes, and begins the next one. */
  #flush(): void {
    if (this.#view.transforms.length > 0) this.#push(new ViewStage(this.#viewed, this.#view));
    // The borders of the stage are bytes like others, whose values the tables have.
    for (const table of this.#tables ?? []) table.outside = undefined;
  }

  #push(stage: ByteStage): void {
    this.#bytes.push(stage);
    this.#viewed = stage.shape;
    this.#view = new ViewPlan(stage.shape, this.#mask?.fill);
  }
}

function requireLevels(fill: number | readonly number[]): void {
  const odd = (typeof fill === 'number' ? [fill] : fill).find((level) => !(level >= 0 && level <= 255));
  if (odd === undefined) return;
  throw new InvalidArgumentError(
    `Pad: expected a fill from 0 to 255 before ToTensor, got ${odd}. Pass a level, or put Pad after ToTensor.`,
  );
}
