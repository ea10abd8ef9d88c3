import { expect, test } from 'vitest';
import { curveShape, frame } from '../../../../src/dashboard/page/client/content/curve-shape.ts';

const [top, bottom] = [frame.top, frame.height - frame.bottom];
const [left, right] = [frame.left, frame.width - frame.right];

test('a curve fills the frame, from its lowest to its highest value', () => {
  const curve = curveShape([
    [10, 3],
    [20, 1],
    [30, 2],
  ]);
  const middle = (left + right) / 2;
  const half = (top + bottom) / 2;
  const [x1, x2, x3] = [left, middle, right].map((x) => x.toFixed(1));
  expect(curve).toEqual({
    path: `M${x1} ${top.toFixed(1)}L${x2} ${bottom.toFixed(1)}L${x3} ${half.toFixed(1)}`,
    low: { value: 1, y: bottom },
    high: { value: 3, y: top },
    firstStep: 10,
    lastStep: 30,
  });
});

test('the axis may start at 0', () => {
  const curve = curveShape(
    [
      [1, 2],
      [2, 4],
    ],
    { min: 0 },
  )!;
  expect(curve.low).toEqual({ value: 0, y: bottom });
  expect(curve.path).toMatch(new RegExp(`^M[\\d.]+ ${((top + bottom) / 2).toFixed(1)}L`));
});

test('a flat curve is a line at the bottom', () => {
  const y = bottom.toFixed(1);
  const flat = curveShape([
    [1, 5],
    [2, 5],
  ]);
  expect(flat?.path).toBe(`M${left.toFixed(1)} ${y}L${right.toFixed(1)} ${y}`);
});

test('a logarithmic axis gives each factor of ten the same height, and leaves out values up to 0', () => {
  const curve = curveShape(
    [
      [1, 100],
      [2, 0],
      [3, -5],
      [5, 10],
      [9, 1],
    ],
    { isLog: true, min: 0 },
  )!;
  const middle = ((left + right) / 2).toFixed(1);
  expect(curve.path).toBe(
    `M${left.toFixed(1)} ${top.toFixed(1)}L${middle} ${((top + bottom) / 2).toFixed(1)}L${right.toFixed(1)} ${bottom.toFixed(1)}`,
  );
  expect([curve.low.value, curve.high.value]).toEqual([1, 100]);
});

test('fewer than two points that the axis can show are no curve', () => {
  expect(curveShape([[1, 5]])).toBeUndefined();
  const points = [
    [1, 5],
    [2, 0],
  ] as const;
  expect(curveShape(points, { isLog: true })).toBeUndefined();
  expect(curveShape(points)).toBeDefined();
});
