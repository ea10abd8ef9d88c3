import { describe, test } from 'vitest';
import { pooling } from '../../../../src/executor/cuda/kernels/pooling.ts';
import { createValue, type Node } from '../../../../src/graph/node.ts';
import { tensor } from '../../../../src/index.ts';
import { averagePool, maxPool } from '../../../../src/ops/pooling.ts';
import { fill, fillCoarse, fillNotFinite } from '../../../support/fill.ts';
import { expectAsOnCpu } from './harness.ts';

const tiled = { kernelShape: [2, 2], strides: [2, 2], pads: [0, 0, 0, 0] };
const overlapping = { kernelShape: [3, 3], strides: [2, 2], pads: [1, 1, 1, 1] };

describe.each([
  ['windows that tile', [2, 3, 6, 8], tiled],
  ['rows that are left over', [1, 2, 7, 5], tiled],
  ['overlapping windows', [2, 3, 9, 7], overlapping],
  ['windows with distances', [1, 2, 9, 9], { ...overlapping, strides: [1, 1], dilations: [2, 2] }],
  ['one axis', [2, 2, 11], { kernelShape: [3], strides: [2], pads: [1, 1] }],
  ['three axes', [1, 2, 4, 5, 6], { kernelShape: [2, 3, 2], strides: [1, 2, 2], pads: [0, 1, 0, 0, 1, 0] }],
])('%s', (_, shape, attributes) => {
  test.each([fill, fillCoarse, fillNotFinite])(
    'maxima and positions are those of the CPU',
    async (filled) => {
      const x = tensor(filled(shape, 1), shape).value;
      const node = maxPool(x, attributes).node as Node<'MaxPool'>;
      await expectAsOnCpu(node, pooling.MaxPool, { tolerance: 0 });
      await expectAsOnCpu(node, pooling.MaxPool, { tolerance: 0, unread: [1] });
    },
  );

  test('gradients are those of the CPU, in the order of the windows', async () => {
    const x = tensor(fillCoarse(shape, 1), shape).value;
    const { outputs } = maxPool(x, attributes).node;
    const images = (given: readonly number[]) => [
      given[0],
      given[1],
      given.slice(2).reduce((a, b) => a * b, 1),
      1,
    ];
    const d = tensor(fill(outputs[0].shape, 2), images(outputs[0].shape)).value;
    const positions = createValue(
      'Reshape',
      [outputs[1]],
      { shape: images(outputs[1].shape) },
      {
        dtype: 'int64',
        shape: images(outputs[1].shape),
      },
    );
    const type = { dtype: 'float32', shape: images(shape) } as const;
    const gradient = createValue('MaxPoolGradient', [d, positions], {}, type).node as Node<'MaxPoolGradient'>;
    await expectAsOnCpu(gradient, pooling.MaxPoolGradient, { tolerance: 0 });
  });

  test.each([true, false])('means agree with the CPU, with padding counted: %s', async (countIncludePad) => {
    if ('dilations' in attributes) return;
    const x = tensor(fill(shape, 1), shape).value;
    const node = averagePool(x, { ...attributes, countIncludePad }).node as Node<'AveragePool'>;
    await expectAsOnCpu(node, pooling.AveragePool);
  });
});

test('MaxUnpool writes values to their positions and 0 elsewhere', async () => {
  const x = tensor(fill([2, 3, 6, 8], 1), [2, 3, 6, 8]).value;
  const { outputs } = maxPool(x, tiled).node;
  const d = tensor(fill(outputs[0].shape, 2), outputs[0].shape).value;
  const node = createValue('MaxUnpool', [d, outputs[1]], { shape: x.shape }, x).node as Node<'MaxUnpool'>;
  await expectAsOnCpu(node, pooling.MaxUnpool, { tolerance: 0 });
});
