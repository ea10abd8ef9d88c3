/** Matrices of a fast correlation: y = A·[(G·g) ∘ (B·d)] gives y[k] = Σ_j g[j]·d[k + j]. */
export interface ToomCook {
  /** Results per tile. */
  readonly tile: number;
  /** Multiplications per tile; the tile·taps of the plain sum become tile + taps − 1. */
  readonly products: number;
  /** [tile, products] */
  readonly outputTransform: readonly (readonly number[])[];
  /** [products, taps] */
  readonly weightTransform: readonly (readonly number[])[];
  /** [products, products]; its columns are the tile + taps − 1 inputs that a tile reads. */
  readonly inputTransform: readonly (readonly number[])[];
}

/**
 * Toom-Cook's algorithm as a correlation (Winograd's F(tile, taps); Lavin and Gray, "Fast Algorithms for Convolutional Neural
 * Networks", 2016).
 *
 * A polynomial product of degree tile + taps − 2 is determined by its values at tile + taps − 1 points, where it is a product of numbers; a
 * correlation is the transposed map. With V the Vandermonde matrix of the points (the last one at infinity): A = V_tileᵀ, G = V_taps, B = V⁻ᵀ.
 *
 * A single tap saves nothing: the transforms are identities.
 *
 * In float32, with at most 7 finite points, a correlation over 100 channels differs from the exact one by 9e-7 of its size (root mean
 * square; the plain sum by 1e-7).
 */
export function toomCook(tile: number, taps: number, points: readonly number[] = reciprocalPairs): ToomCook {
  const products = tile + taps - 1;
  if (taps === 1) {
    const identity = Array.from({ length: tile }, (_, k) => spread([1], tile, () => k));
    const ones = identity.map(() => [1]);
    return { tile, products, outputTransform: identity, weightTransform: ones, inputTransform: identity };
  }
  const powers = (count: number) => [
    ...points.slice(0, products - 1).map((point) => Array.from({ length: count }, (_, k) => point ** k)),
    Array.from({ length: count }, (_, k) => (k === count - 1 ? 1 : 0)),
  ];
  return {
    tile,
    products,
    outputTransform: transposed(powers(tile)),
    weightTransform: powers(taps),
    inputTransform: transposed(inverse(powers(products))),
  };
}

/** Small and in reciprocal pairs, so that their powers stay near 1. */
const reciprocalPairs = [0, 1, -1, 2, -2, 1 / 2, -1 / 2];

/**
 * As `reciprocalPairs`, in an order that has a pair within five points. Tiles of 4×4 results of 3×3 taps, whose errors are the
 * product of both axes, have half of the error: 8e-7 to 1.1e-6 of the size of sums over 64 channels, instead of 1.6e-6.
 */
export const pointsOfBothAxes = [0, 1, -1, 2, -1 / 2, -2, 1 / 2];

/** The largest tile that the points allow. */
export function largestTile(taps: number): number {
  return reciprocalPairs.length + 2 - taps;
}

/** The tile size with the fewest products in total; among equal ones the smallest, which has the smallest rounding error. */
export function bestTile(results: number, taps: number): number {
  return fewestProducts(results, Math.min(largestTile(taps), results), (tile) => tile + taps - 1);
}

function fewestProducts(results: number, largest: number, productsOf: (tile: number) => number): number {
  const tiles = Array.from({ length: largest }, (_, k) => k + 1);
  const products = (tile: number) => Math.ceil(results / tile) * productsOf(tile);
  return tiles.reduce((best, tile) => (products(tile) < products(best) ? tile : best));
}

/** Matrices that map tiles of an image's columns to tiles of results: y = A·[(G·g) ∘ (B·d)]. */
export interface TileTransforms {
  /** The column of the image that the first tile begins with; negative in the padding. */
  readonly start: number;
  /** [results, products] */
  readonly outputTransform: readonly (readonly number[])[];
  /** [products, taps]; those of the transpose map taps in reverse order. */
  readonly weightTransform: readonly (readonly number[])[];
  /** [products, columns] */
  readonly inputTransform: readonly (readonly number[])[];
}

/** The stride-1 correlations that compose a strided correlation, and their positions in its matrices. */
interface Phase {
  readonly taps: readonly number[];
  readonly columnOf: (place: number) => number;
  readonly resultOf: (place: number) => number;
}

/** Products, columns and results that the addon allows for a tile (native/src/operators/toom_cook.h). */
const most = 9;

/**
 * A correlation y[k] = Σ_j g[j]·d[k·stride + j − left]. The columns φ, φ + stride, … are multiplied only by the taps φ, φ +
 * stride, …, so that each phase φ is a stride-1 correlation: 4 results of 3 taps with a stride of 2 cost 5 + 4 products instead
 * of 12.
 */
export function tilesOf(tile: number, taps: number, stride: number, left: number): TileTransforms {
  const phases = Array.from({ length: Math.min(stride, taps) }, (_, phase) => ({
    taps: every(stride, phase, taps),
    columnOf: (place: number) => phase + stride * place,
    resultOf: (place: number) => place,
  }));
  return join(tile, taps, { start: -left, columns: stride * (tile - 1) + taps, results: tile }, phases);
}

/**
 * The transpose of the correlation of `tilesOf`: d[x] = Σ over k and j with k·stride + j − left = x of g[j]·y[k]. The results
 * ρ, ρ + stride, … of a tile use the same taps, so that each ρ is a stride-1 correlation with its taps in reverse order.
 */
export function transposedTilesOf(tile: number, taps: number, stride: number, left: number): TileTransforms {
  const read = Array.from({ length: stride }, (_, rho) => {
    const phase = (rho + left) % stride;
    const own = every(stride, phase, taps);
    return { rho, own, first: (left + rho - phase) / stride - own.length + 1 };
  }).filter(({ own }) => own.length > 0);
  const start = Math.min(...read.map(({ first }) => first));
  const end = Math.max(...read.map(({ own, first }) => first + tile + own.length - 1));
  const phases = read.map(({ rho, own, first }) => ({
    taps: own.map((tap) => taps - 1 - tap).reverse(),
    columnOf: (place: number) => first - start + place,
    resultOf: (place: number) => rho + stride * place,
  }));
  return join(tile, taps, { start, columns: end - start, results: stride * tile }, phases);
}

/** The tile with the fewest products for results of `tilesOf`, or for results in groups of `stride` of `transposedTilesOf`. */
export function bestStridedTile(results: number, taps: number, stride: number): number {
  return stride === 1
    ? bestTile(results, taps)
    : fewestProducts(results, largestStridedTile(taps, stride), (tile) => productsOf(tile, taps, stride));
}

/** The largest tile that the addon allows; 0 if none. */
export function largestStridedTile(taps: number, stride: number): number {
  if (stride === 1) return largestTile(taps);
  const fits = (tile: number) =>
    Math.max(productsOf(tile, taps, stride), stride * (tile - 1) + taps, stride * tile) <= most;
  return Array.from({ length: most }, (_, k) => k + 1).filter(fits).length;
}

function productsOf(tile: number, taps: number, stride: number): number {
  return Math.min(stride, taps) * (tile - 1) + taps;
}

/** The numbers phase, phase + stride, … below `end`. */
function every(stride: number, phase: number, end: number): number[] {
  return Array.from({ length: Math.max(0, Math.ceil((end - phase) / stride)) }, (_, k) => phase + stride * k);
}

function join(
  tile: number,
  taps: number,
  { start, columns, results }: { start: number; columns: number; results: number },
  phases: readonly Phase[],
): TileTransforms {
  const fast = phases.map((phase) => ({ ...phase, ...toomCook(tile, phase.taps.length) }));
  const rowsOfResults = fast.flatMap(({ outputTransform, resultOf }) =>
    transposed(outputTransform).map((column) => spread(column, results, resultOf)),
  );
  return {
    start,
    inputTransform: fast.flatMap(({ inputTransform, columnOf }) =>
      inputTransform.map((row) => spread(row, columns, columnOf)),
    ),
    weightTransform: fast.flatMap(({ weightTransform, taps: own }) =>
      weightTransform.map((row) => spread(row, taps, (k) => own[k])),
    ),
    outputTransform: transposed(rowsOfResults),
  };
}

/** A row of zeros with the numbers at given positions. */
function spread(numbers: readonly number[], length: number, placeOf: (index: number) => number): number[] {
  const row = Array<number>(length).fill(0);
  for (const [index, value] of numbers.entries()) row[placeOf(index)] = value;
  return row;
}

function transposed(matrix: readonly (readonly number[])[]): number[][] {
  return matrix[0].map((_, column) => matrix.map((row) => row[column]));
}

/** Gauss and Jordan's elimination with row pivots, in double precision. */
function inverse(matrix: readonly (readonly number[])[]): number[][] {
  const size = matrix.length;
  const rows = matrix.map((row, i) => [...row, ...row.map((_, j) => (i === j ? 1 : 0))]);
  for (let column = 0; column < size; column += 1) {
    const candidates = rows.slice(column).map((row) => Math.abs(row[column]));
    const best = column + candidates.indexOf(Math.max(...candidates));
    [rows[column], rows[best]] = [rows[best], rows[column]];
    const pivot = rows[column].map((value) => value / rows[column][column]);
    for (const [index, row] of rows.entries()) {
      const factor = row[column];
      rows[index] = index === column ? pivot : row.map((value, j) => value - factor * pivot[j]);
    }
  }
  return rows.map((row) => row.slice(size));
}
