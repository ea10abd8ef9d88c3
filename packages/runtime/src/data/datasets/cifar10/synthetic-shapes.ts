import { Random } from '../../random.ts';
import { pixelsPerImage } from './batch.ts';

const side = 32;
const channelPixels = side * side;

/**
 * Approximate signed distance of a point from the edge of a figure: positive inside. Figures have a size of
 * about 1 around (0, 0).
 */
type Figure = (x: number, y: number) => number;

const wave = (position: number) => Math.sin(position * 7);

/** The figure of each class: five outlines, five textures. */
const figures: readonly Figure[] = [
  (x, y) => 0.85 - Math.hypot(x, y),
  (x, y) => 0.25 - Math.abs(0.75 - Math.hypot(x, y)),
  (x, y) => 0.75 - Math.max(Math.abs(x), Math.abs(y)),
  (x, y) => Math.min(0.6 - y, 0.5 + y / 2 - Math.abs(x)),
  (x, y) => Math.min(0.9 - Math.max(Math.abs(x), Math.abs(y)), 0.25 - Math.min(Math.abs(x), Math.abs(y))),
  (x) => wave(x) / 3,
  (_, y) => wave(y) / 3,
  (x, y) => (wave(x) * wave(y)) / 2,
  (x, y) => wave(Math.hypot(x, y) * 1.3) / 3,
  (x, y) => 0.35 - Math.hypot(Math.abs(x) - 0.5, Math.abs(y) - 0.5),
];

/**
 * Generates images in the format of CIFAR-10: 3 x 32 x 32 bytes, with a label from 0 to 9.
 *
 * A class is a figure: disc, ring, square, triangle, cross, vertical stripes, horizontal stripes, checks,
 * concentric rings, four dots. Position, size, rotation, colours, light and noise are random, so colour is
 * independent of the class. Image i depends only on `seed` and i.
 */
export function syntheticShapes({ count, seed }: { count: number; seed: number }): {
  pixels: Uint8Array;
  labels: Uint8Array;
} {
  const random = new Random(seed);
  const pixels = new Uint8Array(count * pixelsPerImage);
  const labels = new Uint8Array(count);
  for (let i = 0; i < count; i += 1) {
    labels[i] = random.below(figures.length);
    drawFigure(figures[labels[i]], random, pixels.subarray(i * pixelsPerImage, (i + 1) * pixelsPerImage));
  }
  return { pixels, labels };
}

function drawFigure(figure: Figure, random: Random, pixels: Uint8Array): void {
  const toPlane = randomPlacement(random);
  const [paper, ink] = randomColours(random);
  const light = random.uniform(-25, 25);
  for (let pixel = 0; pixel < channelPixels; pixel += 1) {
    const [x, y] = toPlane(pixel % side, Math.floor(pixel / side));
    const coverage = clamp(0.5 + 5 * figure(x, y), 0, 1);
    const shade = light * (x + y) + random.uniform(-18, 18);
    for (let channel = 0; channel < 3; channel += 1) {
      const colour = paper[channel] + coverage * (ink[channel] - paper[channel]);
      pixels[channel * channelPixels + pixel] = clamp(colour + shade, 0, 255);
    }
  }
}

/** Maps a pixel to a figure's plane. The rotation is small, so vertical and horizontal stripes stay distinct. */
function randomPlacement(random: Random): (column: number, row: number) => [x: number, y: number] {
  const radius = random.uniform(9, 15);
  const [x0, y0] = [15.5 + random.bell(1.5), 15.5 + random.bell(1.5)];
  const turn = random.bell(0.12);
  const [cosine, sine] = [Math.cos(turn) / radius, Math.sin(turn) / radius];
  return (column, row) => {
    const [right, down] = [column - x0, row - y0];
    return [right * cosine + down * sine, down * cosine - right * sine];
  };
}

/** Two colours that differ enough for the figure to be seen. */
function randomColours(random: Random): [paper: number[], ink: number[]] {
  const colour = () => [0, 1, 2].map(() => random.uniform(20, 235));
  const paper = colour();
  let ink = colour();
  while (Math.hypot(...ink.map((value, channel) => value - paper[channel])) < 90) ink = colour();
  return [paper, ink];
}

function clamp(value: number, min: number, max: number): number {
  return Math.min(max, Math.max(min, value));
}
