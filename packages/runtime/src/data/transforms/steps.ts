import type { Random } from '../random.ts';
import type { ImageFileTransform, RandomResizedCrop } from './image-file-transforms.ts';

/** Size of an image in pixels. */
export interface Extent {
  width: number;
  height: number;
}

/** One change of an image, in pixels. */
export type Step =
  | ({ kind: 'extract'; left: number; top: number } & Extent)
  | ({ kind: 'resize' } & Extent)
  | { kind: 'extend'; left: number; top: number; right: number; bottom: number };

/** The steps of a transform for an image of this size. */
export function stepsOf(transform: ImageFileTransform, from: Extent, random: Random): Step[] {
  switch (transform.kind) {
    case 'Resize':
      return [{ kind: 'resize', ...resized(transform.size, from) }];
    case 'CenterCrop':
      return centerCrop(transform.size, from);
    case 'RandomResizedCrop': {
      const [height, width] = transform.size;
      return [
        { kind: 'extract', ...randomPart(transform, from, random) },
        { kind: 'resize', width, height },
      ];
    }
  }
}

/** Size of the image after a step. */
export function sizeAfter(step: Step, { width, height }: Extent): Extent {
  if (step.kind !== 'extend') return { width: step.width, height: step.height };
  return { width: width + step.left + step.right, height: height + step.top + step.bottom };
}

/** As torchvision: the longer side is rounded down. */
export function resized(size: number | readonly [number, number], { width, height }: Extent): Extent {
  if (typeof size !== 'number') return { height: size[0], width: size[1] };
  const longer = (long: number, short: number) => Math.max(1, Math.floor((size * long) / short));
  return width <= height
    ? { width: size, height: longer(height, width) }
    : { width: longer(width, height), height: size };
}

function centerCrop([height, width]: readonly [number, number], from: Extent): Step[] {
  const padding = {
    left: Math.max(0, Math.floor((width - from.width) / 2)),
    right: Math.max(0, Math.floor((width - from.width + 1) / 2)),
    top: Math.max(0, Math.floor((height - from.height) / 2)),
    bottom: Math.max(0, Math.floor((height - from.height + 1) / 2)),
  };
  const extend: Step = { kind: 'extend', ...padding };
  const padded = sizeAfter(extend, from);
  const extract: Step = {
    kind: 'extract',
    left: roundedToEven((padded.width - width) / 2),
    top: roundedToEven((padded.height - height) / 2),
    width,
    height,
  };
  const isPadded = Object.values(padding).some((pixels) => pixels > 0);
  return isPadded ? [extend, extract] : [extract];
}

/** As Python's round, for halves. */
export function roundedToEven(value: number): number {
  const floor = Math.floor(value);
  return value - floor === 0.5 ? floor + (floor % 2) : Math.round(value);
}

/** torchvision's choice: ten attempts at a random area and ratio, then the largest part in the middle. */
export function randomPart(
  { scale, ratio }: RandomResizedCrop,
  { width, height }: Extent,
  random: Random,
): Extent & { left: number; top: number } {
  for (let attempt = 0; attempt < 10; attempt += 1) {
    const area = width * height * random.uniform(...scale);
    const aspect = Math.exp(random.uniform(Math.log(ratio[0]), Math.log(ratio[1])));
    const part = {
      width: Math.round(Math.sqrt(area * aspect)),
      height: Math.round(Math.sqrt(area / aspect)),
    };
    if (part.width < 1 || part.height < 1 || part.width > width || part.height > height) continue;
    const top = random.below(height - part.height + 1);
    return { ...part, top, left: random.below(width - part.width + 1) };
  }
  const aspect = Math.min(Math.max(width / height, ratio[0]), ratio[1]);
  const part = {
    width: Math.min(width, Math.max(1, Math.round(height * aspect))),
    height: Math.min(height, Math.max(1, Math.round(width / aspect))),
  };
  return {
    ...part,
    left: Math.floor((width - part.width) / 2),
    top: Math.floor((height - part.height) / 2),
  };
}
