import { describe, expect, test } from 'vitest';

import { loadNative } from '@ringrun/native';

import { bfloat16, bitsOf, valueOf } from './formats16.ts';

const native = loadNative();
const columnsOfPanel = 16;

/** Around the blocks of rows, of panels and of inner rows of every kernel. */
const rowCounts = [1, 2, 3, 5, 8, 9, 15, 16, 17, 31, 33, 50];
const panelCounts = [1, 2, 3, 4, 7];
const innerSizes = [0, 2, 6, 30, 32, 34, 64, 192, 194, 386];

interface Format {
  readonly make: (numbers: readonly number[]) => Float32Array | Uint16Array;
  readonly read: (elements: Float32Array | Uint16Array) => readonly number[];
  /** Rows of a panel that are stored together. */
  readonly together: number;
}

const formats: Readonly<Record<'float32' | 'bfloat16', Format>> = {
  float32: { make: (numbers) => Float32Array.from(numbers), read: (elements) => [...elements], together: 1 },
  bfloat16: {
    make: (numbers) => Uint16Array.from(numbers, (number) => bitsOf(bfloat16, number)),
    read: (elements) => Array.from(elements, (bits) => valueOf(bfloat16, bits)),
    together: 2,
  },
};

/** Between −1 and 1. */
const filled = (count: number, seed: number) =>
  Array.from({ length: count }, (_, i) => (((i + 1) * (7919 + 104 * seed) * (i + 3)) % 10_007) / 5003.5 - 1);

/** A matrix [inner, columns] in panels. */
function panelsOf(matrix: ArrayLike<number>, inner: number, panels: number, { together, make }: Format) {
  const packed = Array<number>(matrix.length).fill(0);
  const columns = panels * columnsOfPanel;
  for (let k = 0; k < inner; k += 1) {
    for (let column = 0; column < columns; column += 1) {
      const panel = Math.floor(column / columnsOfPanel);
      const inPanel =
        Math.floor(k / together) * together * columnsOfPanel +
        (column % columnsOfPanel) * together +
        (k % together);
      packed[panel * inner * columnsOfPanel + inPanel] = matrix[k * columns + column];
    }
  }
  return make(packed);
}

/** The largest product of a number of terms: every smaller one has its first rows and panels. */
interface Largest {
  readonly left: Float32Array | Uint16Array;
  readonly panels: Float32Array | Uint16Array;
  readonly start: Float32Array;
  /** [rows, columns] in double precision, without the start. */
  readonly sums: Float64Array;
}

const largest = { rows: Math.max(...rowCounts), columns: Math.max(...panelCounts) * columnsOfPanel };
const products = new Map<string, Largest>();

/** Computed once for all kernels. */
function largestProduct(name: keyof typeof formats, inner: number): Largest {
  const key = `${name} ${inner}`;
  const known = products.get(key);
  if (known) return known;
  const { rows, columns } = largest;
  const format = formats[name];
  const [left, right] = [filled(rows * inner, 1), filled(inner * columns, 2)];
  const made = format.make(left);
  const product = {
    left: made,
    panels: panelsOf(right, inner, columns / columnsOfPanel, format),
    start: Float32Array.from(filled(rows * columns, 3)),
    sums: plainProduct(format.read(made), format.read(format.make(right)), rows, inner, columns),
  };
  products.set(key, product);
  return product;
}

function plainProduct(
  left: readonly number[],
  right: readonly number[],
  rows: number,
  inner: number,
  columns: number,
) {
  const sums = new Float64Array(rows * columns);
  for (let row = 0; row < rows; row += 1) {
    for (let k = 0; k < inner; k += 1) {
      const weight = left[row * inner + k];
      for (let column = 0; column < columns; column += 1) {
        sums[row * columns + column] += weight * right[k * columns + column];
      }
    }
  }
  return sums;
}

/** The first rows and columns of a matrix as wide as the largest product. */
function corner(matrix: Float32Array, rows: number, columns: number): Float32Array {
  return Float32Array.from(
    { length: rows * columns },
    (_, place) => matrix[Math.floor(place / columns) * largest.columns + (place % columns)],
  );
}

describe.each(native.productKernelNames())('products with %s', (kernel) => {
  describe.each(['float32', 'bfloat16'] as const)('in %s', (name) => {
    const format = formats[name];
    const product = (left: readonly number[], right: readonly number[], rows: number) => {
      const inner = left.length / rows;
      const columns = right.length / inner;
      const to = new Float32Array(rows * columns).fill(7);
      const panels = panelsOf(right, inner, columns / columnsOfPanel, format);
      native.multiplyPanelsWith(kernel, format.make(left), panels, undefined, to, rows);
      return to;
    };

    test.each(innerSizes)('equal sums in double precision, %i terms', (inner) => {
      const { left, panels: allPanels, start, sums } = largestProduct(name, inner);
      for (const rows of rowCounts) {
        for (const panels of panelCounts) {
          const columns = panels * columnsOfPanel;
          const from = left.slice(0, rows * inner);
          const packed = allPanels.slice(0, inner * columns);
          const begin = corner(start, rows, columns);
          for (const added of inner === 0 ? [begin] : [undefined, begin]) {
            const found = new Float32Array(rows * columns).fill(7);
            native.multiplyPanelsWith(kernel, from, packed, added, found, rows);
            let worst = 0;
            for (const [place, element] of found.entries()) {
              const [row, column] = [Math.floor(place / columns), place % columns];
              const sum = sums[row * largest.columns + column] + (added ? added[place] : 0);
              worst = Math.max(worst, Math.abs(element - sum));
            }
            expect(worst, `${rows} rows, ${panels} panels`).toBeLessThan(2e-6 * (1 + Math.sqrt(inner)));
          }
        }
      }
    });

    test('infinities and NaN reach only their row and column', () => {
      const [rows, inner, columns] = [9, 34, 32];
      const [left, right] = [filled(rows * inner, 1), filled(inner * columns, 2)];
      left[3 * inner + 33] = Infinity;
      right[5 * columns + 20] = NaN;
      const found = product(left, right, rows);
      for (const [place, element] of found.entries()) {
        const [row, column] = [Math.floor(place / columns), place % columns];
        const what = `row ${row}, column ${column}`;
        if (column === 20) expect(element, what).toBeNaN();
        else if (row === 3) expect(Math.abs(element), what).toBe(Infinity);
        else expect(Number.isFinite(element), what).toBe(true);
      }
    });

    test('bits of a row do not depend on the rows beside it', () => {
      const [inner, columns] = [390, 48];
      const right = filled(inner * columns, 2);
      const left = filled(21 * inner, 1);
      const whole = product(left, right, 21);
      const some = product(left.slice(4 * inner, 17 * inner), right, 13);
      expect(some).toEqual(whole.slice(4 * columns, 17 * columns));
    });
  });
});

test('the tiles of AMX and their twin compute alike', () => {
  if (!native.productKernelNames().includes('amx')) return;
  const [rows, inner, columns] = [37, 98, 48];
  const { make } = formats.bfloat16;
  const arrays = [
    make(filled(rows * inner, 1)),
    panelsOf(filled(inner * columns, 2), inner, 3, formats.bfloat16),
  ] as const;
  const [found, twin] = ['amx', 'amx-twin'].map((kernel) => {
    const to = new Float32Array(rows * columns);
    native.multiplyPanelsWith(kernel, ...arrays, undefined, to, rows);
    return to;
  });
  const worst = found.reduce((most, element, place) => Math.max(most, Math.abs(element - twin[place])), 0);
  expect(worst).toBeLessThan(1e-5);
});
