import { describe, expect, test } from 'vitest';
import { checks } from '../../../../src/executor/cuda/kernels/checks.ts';
import { indexing } from '../../../../src/executor/cuda/kernels/indexing.ts';
import { tableRows } from '../../../../src/executor/cuda/kernels/table-rows.ts';
import { createValue, type Node, type Value } from '../../../../src/graph/node.ts';
import { tensor } from '../../../../src/index.ts';
import { gatherElements, oneHot, scatter, scatterElements } from '../../../../src/ops/indexing.ts';
import { addRows } from '../../../../src/ops/own/add-rows.ts';
import { gather } from '../../../../src/ops/table-rows.ts';
import { fill } from '../../../support/fill.ts';
import { expectAsOnCpu, onGpu } from './harness.ts';

const value = (shape: readonly number[], seed: number) => tensor(fill(shape, seed), shape).value;

function integers(shape: readonly number[], of: (place: number) => number): Value {
  const count = shape.reduce((a, b) => a * b, 1);
  return tensor(
    BigInt64Array.from({ length: count }, (_, place) => BigInt(of(place))),
    shape,
  ).value;
}

describe.each([
  [7, 5, [4]],
  [3, 1, [2, 3]],
  [50, 300, [1000]],
])('a table of %i rows of %i elements, rows %j', (count, width, shape) => {
  const rows = integers(shape, (place) => ((place * place + 3) % count) - (place % 5 === 0 ? count : 0));

  test('rows are gathered', async () => {
    const node = gather(value([count, width], 1), rows).node as Node<'Gather'>;
    await expectAsOnCpu(node, tableRows.Gather, { tolerance: 0 });
  });

  test.each([undefined, 2])('updates are added in order, padding row %s', async (padding) => {
    const node = addRows(rows, value([...shape, width], 2), count, padding).node as Node<'AddRows'>;
    await expectAsOnCpu(node, tableRows.AddRows, { tolerance: 0 });
  });
});

test('a row that does not exist fails the run', async () => {
  const rows = integers([4], (place) => 2 * place);
  const message = 'expected rows from -5 to 4, got 6 at index 3';
  await expect(
    onGpu(gather(value([5, 2], 1), rows).node as Node<'Gather'>, tableRows.Gather),
  ).rejects.toThrow(message);
  const sums = addRows(rows, value([4, 2], 1), 5).node as Node<'AddRows'>;
  await expect(onGpu(sums, tableRows.AddRows)).rejects.toThrow(message);
});

describe.each([
  [[6], 0, [9]],
  [[3, 5], 1, [3, 2]],
  [[3, 5], 0, [2, 5]],
  [[2, 4, 3], 1, [2, 6, 3]],
])('elements of %j along axis %i at positions %j', (shape, axis, places) => {
  const size = shape[axis];
  const positions = integers(places, (place) => ((5 * place + 1) % size) - (place % 4 === 0 ? size : 0));

  test('are gathered', async () => {
    for (const data of [value(shape, 1), integers(shape, (place) => place - 2)]) {
      const node = gatherElements(data, positions, axis).node as Node<'GatherElements'>;
      await expectAsOnCpu(node, indexing.GatherElements, { tolerance: 0 });
    }
  });

  test('receive updates in order', async () => {
    for (const updates of [value(places, 1), integers(places, (place) => place - 2)]) {
      const node = scatterElements(positions, updates, size, axis).node as Node<'ScatterElements'>;
      await expectAsOnCpu(node, indexing.ScatterElements, { tolerance: 0 });
    }
  });

  test('are written', async () => {
    const single = places.with(axis, 1);
    const one = integers(single, (place) => (3 * place) % size);
    const node = scatter(value(shape, 1), one, value(single, 2), axis).node as Node<'Scatter'>;
    await expectAsOnCpu(node, indexing.Scatter, { tolerance: 0 });
  });
});

test('positions that cover a part of an array', async () => {
  const data = value([4, 3, 5], 1);
  const positions = integers([2, 2, 4], (place) => (3 * place) % 4);
  const gathered = gatherElements(data, positions, 0).node as Node<'GatherElements'>;
  await expectAsOnCpu(gathered, indexing.GatherElements, { tolerance: 0 });
  const single = integers([1, 2, 4], (place) => place % 4);
  const written = scatter(data, single, value([1, 2, 4], 2), 0).node as Node<'Scatter'>;
  await expectAsOnCpu(written, indexing.Scatter, { tolerance: 0 });
});

test('lists of updates have the bits of a scan', async () => {
  const count = 70_000;
  const positions = integers([count], (place) => (place * place) % 1009);
  const node = scatterElements(positions, value([count], 1), 1009).node as Node<'ScatterElements'>;
  await expectAsOnCpu(node, indexing.ScatterElements, { tolerance: 0 });
  expect(1009 * count).toBeGreaterThan(2 ** 26);
});

test('one-hot rows; the class behind the last one has zeros', async () => {
  const node = oneHot(
    integers([9], (place) => place % 6),
    5,
    -1,
  ).node as Node<'OneHot'>;
  await expectAsOnCpu(node, indexing.OneHot, { tolerance: 0 });
});

describe('checks', () => {
  const check = (indices: Value, ignored?: number) => {
    const range = { expected: 'f: expected labels from 0 to 4', least: 0, count: 5 };
    const attributes = ignored === undefined ? range : { ...range, ignored };
    return createValue('CheckIndices', [indices], attributes, indices).node as Node<'CheckIndices'>;
  };

  test('indices in range, and ignored ones, are returned', async () => {
    await expectAsOnCpu(check(integers([5], (place) => place)), checks.CheckIndices);
    const ignored = check(
      integers([600], (place) => (place % 3 === 0 ? -100 : 4)),
      -100,
    );
    await expectAsOnCpu(ignored, checks.CheckIndices);
  });

  test('the first index out of range fails the run', async () => {
    const message = 'f: expected labels from 0 to 4, got -1 at index 301';
    const indices = integers([600], (place) => (place > 300 ? (place % 2 === 1 ? -1 : 7) : place % 5));
    await expect(onGpu(check(indices), checks.CheckIndices)).rejects.toThrow(message);
    for (const index of [2n ** 40n, -(2n ** 40n), 2n ** 63n - 1n, -(2n ** 63n)]) {
      const far = check(tensor(BigInt64Array.of(0n, index, 2n ** 62n, -1n)).value);
      await expect(onGpu(far, checks.CheckIndices)).rejects.toThrow(`got ${index} at index 1`);
    }
  });

  test.each([
    [-0.25, '-0.25'],
    [1.1, '1.1'],
    [NaN, 'NaN'],
    [-Infinity, '-Infinity'],
  ])('%d is no probability', async (one, written) => {
    const given = tensor(Float32Array.of(0, 1, one, 3), [4]).value;
    const node = createValue('CheckProbabilities', [given], { expected: 'f: expected p from 0 to 1' }, given)
      .node as Node<'CheckProbabilities'>;
    const message = `f: expected p from 0 to 1, got ${written} at index 2`;
    await expect(onGpu(node, checks.CheckProbabilities)).rejects.toThrow(message);
  });
});
