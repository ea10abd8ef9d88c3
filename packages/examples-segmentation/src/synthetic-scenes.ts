import { SegmentationDataset, transforms } from 'ringrun';

/** Names of the classes of synthetic scenes. */
export const sceneClasses = ['background', 'disc', 'square', 'triangle'] as const;

/** A generator of 32 bits (mulberry32). */
function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Whether a point, in units of the radius around the middle of a shape, is in it. */
const contains: Readonly<Record<number, (x: number, y: number) => boolean>> = {
  1: (x, y) => x * x + y * y < 1,
  2: (x, y) => Math.abs(x) < 0.85 && Math.abs(y) < 0.85,
  3: (x, y) => y < 0.8 && y > 2 * Math.abs(x) - 1,
};

/**
 * Synthetic scenes: three shapes of random classes, places and sizes over a noisy background. Colours vary, and each class
 * tends to one of red, green and blue. The same on each rank.
 *
 * @param seed another one for other scenes
 */
export function syntheticScenes(
  count: number,
  side: number,
  seed: number,
  transform: transforms.Compose,
): SegmentationDataset {
  const area = side * side;
  const pixels = new Uint8Array(new SharedArrayBuffer(3 * area * count));
  const masks = new Uint8Array(new SharedArrayBuffer(area * count));
  const random = generator(seed);
  const between = (from: number, to: number) => from + random() * (to - from);
  for (let image = 0; image < count; image += 1) {
    const mask = masks.subarray(image * area, (image + 1) * area);
    const colours = [[60, 60, 60].map((level) => level + between(-30, 30))];
    const shapeOf = new Uint8Array(area);
    for (let shape = 1; shape <= 3; shape += 1) {
      const kind = 1 + Math.floor(random() * 3);
      const radius = side * between(0.12, 0.25);
      const [cx, cy] = [between(radius, side - radius), between(radius, side - radius)];
      colours.push([1, 2, 3].map((other) => between(70, 130) + (other === kind ? between(40, 120) : 0)));
      for (let y = 0; y < side; y += 1)
        for (let x = 0; x < side; x += 1) {
          if (!contains[kind]((x - cx) / radius, (y - cy) / radius)) continue;
          mask[y * side + x] = kind;
          shapeOf[y * side + x] = shape;
        }
    }
    for (let channel = 0; channel < 3; channel += 1)
      for (let at = 0; at < area; at += 1)
        pixels[(3 * image + channel) * area + at] = colours[shapeOf[at]][channel] + between(-12, 12);
  }
  const { transforms: list } = transform;
  return new SegmentationDataset({
    title: 'synthetic scenes',
    ...{ pixels, masks, shape: [3, side, side] as const, transforms: list },
  });
}
