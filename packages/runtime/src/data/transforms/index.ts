export { Compose, Normalize, RandomCrop, RandomHorizontalFlip, ToTensor } from './transforms.ts';
export type { RandomCropOptions, Transform } from './transforms.ts';
