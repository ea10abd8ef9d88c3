import { Random } from '../../random.ts';
import { rasterise } from '../synthetic/raster.ts';
import type { Point, Stroke } from '../synthetic/raster.ts';
import type { IdxArray } from './idx.ts';

/**
 * One shape of a digit. At a corner, one stroke ends and the next begins. Points have x from 0 (left) to 1
 * (right), y from 0 (top) to 1 (bottom).
 */
type Glyph = readonly Stroke[];

/** Points in hundredths; `|` marks a corner or a lifted pen. */
const glyphTexts = [
  ['55,0 20,15 8,50 20,85 50,100 80,85 92,50 80,15 50,0', '70,6 30,10 10,55 35,97 75,88 90,45 65,2 40,12'],
  ['50,0 50,50 50,100', '28,24 52,0 | 52,0 52,100', '30,22 52,0 | 52,0 52,100 | 25,100 80,100'],
  ['10,25 35,2 75,7 82,35 50,70 8,100 | 8,100 92,98', '15,18 50,0 85,25 60,65 25,97 10,85 35,78 65,95 95,92'],
  [
    '12,12 50,0 82,20 65,43 38,48 | 38,48 78,56 85,80 50,100 10,90',
    '12,3 85,3 | 85,3 45,42 | 45,42 85,58 80,88 45,100 10,90',
  ],
  ['22,0 15,30 12,58 | 12,58 92,55 | 75,5 72,50 68,100', '70,0 6,66 | 6,66 98,66 | 70,0 68,100'],
  [
    '85,2 25,2 | 25,2 20,44 | 20,44 55,36 88,60 70,93 35,100 8,88',
    '90,0 40,5 | 40,5 28,40 65,50 78,75 50,98 10,95',
  ],
  ['75,2 40,20 15,60 30,95 70,95 85,70 60,52 30,62 18,75', '45,0 20,35 12,75 42,100 82,85 72,58 40,58 20,80'],
  [
    '8,5 90,4 | 90,4 62,45 42,100',
    '8,8 90,4 | 90,4 60,50 40,100 | 30,52 85,50',
    '10,22 14,4 | 14,4 88,6 | 88,6 70,50 62,100',
  ],
  [
    '78,12 50,0 20,18 42,44 78,65 75,93 42,100 15,83 35,58 68,38 78,12',
    '50,46 20,32 30,4 68,4 80,30 50,46 | 50,46 15,65 25,95 72,96 85,65 50,46',
  ],
  [
    '82,15 50,0 18,20 30,48 62,45 82,15 | 82,15 78,60 68,100',
    '78,10 40,2 15,30 40,52 75,35 80,10 | 80,10 82,55 70,90 40,100 15,92',
  ],
];

/** The shapes of each digit, 0 to 9. */
const glyphsByDigit: readonly (readonly Glyph[])[] = glyphTexts.map((glyphs) => glyphs.map(readGlyph));

function readGlyph(text: string): Glyph {
  return text.split(' | ').map((stroke) => stroke.split(' ').map(readPoint));
}

function readPoint(text: string): Point {
  const [x, y] = text.split(',').map(Number);
  return [x / 100, y / 100];
}

const side = 28;
const pixelsPerImage = side * side;

/**
 * Generates digits in the format of MNIST: white on black, 28 x 28 bytes, with a label from 0 to 9.
 *
 * Every digit has a few glyphs. Size, slant, rotation, position, pen and ink are random, and each point of the
 * glyph is moved a little. Image i depends only on `seed` and i.
 */
export function syntheticDigits({ count, seed }: { count: number; seed: number }): {
  images: IdxArray;
  labels: IdxArray;
} {
  const random = new Random(seed);
  const pixels = new Uint8Array(count * pixelsPerImage);
  const labels = new Uint8Array(count);
  for (let i = 0; i < count; i++) {
    labels[i] = random.below(glyphsByDigit.length);
    drawDigit(labels[i], random, pixels.subarray(i * pixelsPerImage, (i + 1) * pixelsPerImage));
  }
  return { images: { shape: [count, side, side], data: pixels }, labels: { shape: [count], data: labels } };
}

function drawDigit(digit: number, random: Random, pixels: Uint8Array): void {
  const glyphs = glyphsByDigit[digit];
  const toPixels = randomPlacement(random);
  const strokes = tremble(glyphs[random.below(glyphs.length)], random).map((stroke) => stroke.map(toPixels));
  const ink = rasterise(strokes, random.uniform(0.75, 1.9), side);
  const brightness = random.uniform(0.85, 1);
  for (const [pixel, coverage] of ink.entries()) {
    if (coverage > 0) pixels[pixel] = 255 * coverage * brightness * random.uniform(0.9, 1);
  }
}

/** Moves each point a little. Strokes that meet in a point still meet afterwards. */
function tremble(glyph: Glyph, random: Random): Point[][] {
  const moved = new Map<string, Point>();
  const move = (point: Point): Point => {
    const key = point.join();
    const known = moved.get(key);
    if (known) return known;
    const next: Point = [point[0] + random.bell(0.055), point[1] + random.bell(0.045)];
    moved.set(key, next);
    return next;
  };
  return glyph.map((stroke) => stroke.map(move));
}

/** Maps points of a glyph to pixels: around the middle of the image, with random size, slant and rotation. */
function randomPlacement(random: Random): (point: Point) => Point {
  const height = random.uniform(16, 20);
  const width = height * random.uniform(0.55, 0.95);
  const slant = 0.12 + random.bell(0.18);
  const turn = random.bell(0.1);
  const [cosine, sine] = [Math.cos(turn), Math.sin(turn)];
  const [x0, y0] = [(side - 1) / 2 + random.bell(1.2), (side - 1) / 2 + random.bell(1.2)];
  return ([x, y]) => {
    const up = (0.5 - y) * height;
    const right = (x - 0.5) * width + slant * up;
    return [x0 + right * cosine + up * sine, y0 + right * sine - up * cosine];
  };
}
