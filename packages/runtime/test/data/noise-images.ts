// Imports the build, because threads of this Node may not run TypeScript.
import { ImageDataset, transforms } from '../../dist/data/index.js';

/** Images of noise, small enough to be many. */
export function images(count: number): InstanceType<typeof ImageDataset> {
  const { Compose, RandomCrop, RandomHorizontalFlip, ToTensor } = transforms;
  const pixels = new Uint8Array(new SharedArrayBuffer(count * 48)).map(
    (_, i) => Math.imul(i, 2654435761) >>> 24,
  );
  const labels = Uint8Array.from({ length: count }, (_, i) => i % 10);
  const transform = new Compose([
    new RandomCrop(4, { padding: 2 }),
    new RandomHorizontalFlip(),
    new ToTensor(),
  ]);
  return new ImageDataset({
    title: 'noise',
    pixels,
    labels,
    shape: [3, 4, 4],
    transforms: transform.transforms,
  });
}
