export { Compose, Normalize, RandomCrop, RandomHorizontalFlip, ToTensor } from './transforms.ts';
export type { RandomCropOptions, Transform } from './transforms.ts';
export { CenterCrop, RandomResizedCrop, Resize } from './image-file-transforms.ts';
export type { ImageFileTransform, ImageSize, RandomResizedCropOptions } from './image-file-transforms.ts';
