/** x to the right, y downwards. */
export type Point = readonly [x: number, y: number];

/** One movement of the pen: a smooth curve through these points. */
export type Stroke = readonly Point[];

/** Number of straight pieces per span of a stroke. */
const piecesPerSpan = 4;
/** Width in pixels of a stroke's edge, from ink to background. */
const edgeWidth = 1.2;

/**
 * Draws strokes with a round pen into an image of `side` x `side` pixels, whose centres have integer coordinates.
 * Coverage follows from the distance to the nearest stroke, so strokes that cross do not add up.
 *
 * @param radius of the pen, in pixels
 * @returns the share of each pixel that is ink, from 0 to 1, row by row
 */
export function rasterise(strokes: readonly Stroke[], radius: number, side: number): Float32Array {
  const image = new Float32Array(side * side).fill(Infinity);
  for (const stroke of strokes) {
    const points = smoothen(stroke);
    for (let i = 1; i < points.length; i++)
      approach(image, side, points[i - 1], points[i], radius + edgeWidth);
  }
  const outerEdge = radius + edgeWidth / 2;
  return image.map((squaredDistance) => clamp((outerEdge - Math.sqrt(squaredDistance)) / edgeWidth));
}

/** A smooth curve through the points (a uniform Catmull-Rom spline), as a chain of straight pieces. */
function smoothen(stroke: Stroke): Point[] {
  const chain: Point[] = [stroke[0]];
  for (let span = 1; span < stroke.length; span++) {
    const [start, end] = [stroke[span - 1], stroke[span]];
    const before = stroke[span - 2] ?? start;
    const after = stroke[span + 1] ?? end;
    for (let piece = 1; piece <= piecesPerSpan; piece++) {
      const t = piece / piecesPerSpan;
      chain.push([
        between(before[0], start[0], end[0], after[0], t),
        between(before[1], start[1], end[1], after[1], t),
      ]);
    }
  }
  return chain;
}

/** Where a Catmull-Rom spline is between `start` (t = 0) and `end` (t = 1). */
function between(before: number, start: number, end: number, after: number, t: number): number {
  const linear = end - before;
  const square = 2 * before - 5 * start + 4 * end - after;
  const cubic = 3 * (start - end) + after - before;
  return start + 0.5 * t * (linear + t * (square + t * cubic));
}

/** Lowers the squared distances of the pixels around the piece from `a` to `b` to their distance from it. */
function approach(image: Float32Array, side: number, a: Point, b: Point, reach: number): void {
  const [dx, dy] = [b[0] - a[0], b[1] - a[1]];
  const squaredLength = dx * dx + dy * dy || 1;
  const lastColumn = Math.min(side - 1, Math.floor(Math.max(a[0], b[0]) + reach));
  const lastRow = Math.min(side - 1, Math.floor(Math.max(a[1], b[1]) + reach));
  const firstColumn = Math.max(0, Math.ceil(Math.min(a[0], b[0]) - reach));
  for (let y = Math.max(0, Math.ceil(Math.min(a[1], b[1]) - reach)); y <= lastRow; y++) {
    for (let x = firstColumn; x <= lastColumn; x++) {
      const along = clamp(((x - a[0]) * dx + (y - a[1]) * dy) / squaredLength);
      const [awayX, awayY] = [x - a[0] - along * dx, y - a[1] - along * dy];
      const squaredDistance = awayX * awayX + awayY * awayY;
      const pixel = y * side + x;
      if (squaredDistance < image[pixel]) image[pixel] = squaredDistance;
    }
  }
}

function clamp(value: number): number {
  return Math.min(1, Math.max(0, value));
}
