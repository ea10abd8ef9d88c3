export { Compose, Normalize, RandomCrop, RandomHorizontalFlip, ToTensor } from './transforms.ts';
export type { RandomCropOptions, Transform } from './transforms.ts';
export { CenterCrop, RandomResizedCrop, Resize } from './image-file-transforms.ts';
export type { ImageFileTransform, ImageSize, RandomResizedCropOptions } from './image-file-transforms.ts';
export type { Fill, Interpolation, Range } from './arguments.ts';
export { ColorJitter, Grayscale, RandomGrayscale } from './colors.ts';
export type { ColorJitterOptions, ColorTransform } from './colors.ts';
export { Pad, RandomAffine, RandomRotation, RandomVerticalFlip } from './geometry.ts';
export type {
  Padding,
  PaddingMode,
  PadOptions,
  RandomAffineOptions,
  RandomRotationOptions,
} from './geometry.ts';
export { RandomErasing } from './random-erasing.ts';
export type { RandomErasingOptions } from './random-erasing.ts';
export { CutMix, MixUp, RandomChoice } from './mix.ts';
export type { BatchTransform, MixedBatch, MixOptions } from './mix.ts';
