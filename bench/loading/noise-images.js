// Images of CIFAR-10's shape for benchmarks, and their transforms.
import { ImageDataset, cifar10Mean, cifar10Std, transforms } from 'ringrun';

const { Compose, Normalize, RandomCrop, RandomHorizontalFlip, ToTensor } = transforms;

/** The usual augmentation of CIFAR-10. */
export const augment = new Compose([
  new RandomCrop(32, { padding: 4 }),
  new RandomHorizontalFlip(),
  new ToTensor(),
  new Normalize(cifar10Mean, cifar10Std),
]);

/** Noise in memory: the content of the images does not affect the time. */
export function noiseImages(count) {
  const pixels = new Uint8Array(new SharedArrayBuffer(count * 3072));
  for (let i = 0; i < pixels.length; i += 1) pixels[i] = Math.imul(i, 2654435761) >>> 24;
  const labels = Uint8Array.from({ length: count }, (_, i) => i % 10);
  const { transforms } = augment;
  return new ImageDataset({ title: 'noise', pixels, labels, shape: [3, 32, 32], transforms });
}
