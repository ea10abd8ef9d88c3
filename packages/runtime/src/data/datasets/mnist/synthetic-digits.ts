import { Random } from '../../random.ts';
import { rasterise } from '../synthetic/raster.ts';
import type { Point } from '../synthetic/raster.ts';
import { glyphsOfDigits } from './glyphs.ts';
import type { Glyph } from './glyphs.ts';
import type { IdxArray } from './idx.ts';

const side = 28;
const pixelsPerImage = side * side;

/**
 * Generates digits in the format of MNIST: white on black, 28 x 28 bytes, with a label from 0 to 9.
 *
 * Every digit has a few glyphs. Each image varies size, slant, rotation, position, pen and ink, and moves each point of the glyph a little. Everything
 * follows from `seed`: image i is the same for every `count`.
 */
export function syntheticDigits({ count, seed }: { count: number; seed: number }): {
  images: IdxArray;
  labels: IdxArray;
} {
  const random = new Random(seed);
  const pixels = new Uint8Array(count * pixelsPerImage);
  const labels = new Uint8Array(count);
  for (let i = 0; i < count; i++) {
    labels[i] = random.below(glyphsOfDigits.length);
    drawDigit(labels[i], random, pixels.subarray(i * pixelsPerImage, (i + 1) * pixelsPerImage));
  }
  return { images: { shape: [count, side, side], data: pixels }, labels: { shape: [count], data: labels } };
}

function drawDigit(digit: number, random: Random, pixels: Uint8Array): void {
  const glyphs = glyphsOfDigits[digit];
  const place = randomPlacement(random);
  const strokes = tremble(glyphs[random.below(glyphs.length)], random).map((stroke) => stroke.map(place));
  const ink = rasterise(strokes, random.uniform(0.75, 1.9), side);
  const brightness = random.uniform(0.85, 1);
  for (const [pixel, coverage] of ink.entries()) {
    if (coverage > 0) pixels[pixel] = 255 * coverage * brightness * random.uniform(0.9, 1);
  }
}

/** Each point a little elsewhere. Strokes that meet in a point still do. */
function tremble(glyph: Glyph, random: Random): Point[][] {
  const moved = new Map<string, Point>();
  const move = (point: Point): Point => {
    const key = point.join();
    const known = moved.get(key);
    if (known) return known;
    const place: Point = [point[0] + random.bell(0.055), point[1] + random.bell(0.045)];
    moved.set(key, place);
    return place;
  };
  return glyph.map((stroke) => stroke.map(move));
}

/** Where in the image the points of a glyph come to lie: around the middle, sized, slanted and turned at random. */
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
