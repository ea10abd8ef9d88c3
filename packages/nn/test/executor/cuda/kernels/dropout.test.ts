import { test } from 'vitest';
import { dropouts } from '../../../../src/executor/cuda/kernels/dropout.ts';
import type { Node } from '../../../../src/graph/node.ts';
import { tensor } from '../../../../src/index.ts';
import { dropout } from '../../../../src/ops/own/dropout.ts';
import { fill } from '../../../support/fill.ts';
import { expectAsOnCpu } from './harness.ts';

test.each([1, 63, 64, 255, 256, 257, 1000, 70_000])(
  'dropout of %i elements has the bits of the CPU',
  async (count) => {
    const numbers = tensor(BigInt64Array.of(0x1234_5678_9abc_def1n, 0xb333_3333n)).value;
    const scale = tensor(Float32Array.of(1 / 0.7), []).value;
    const node = dropout(tensor(fill([count], 1), [count]).value, numbers, scale).node as Node<'Dropout'>;
    await expectAsOnCpu(node, dropouts.Dropout, { tolerance: 0 });
  },
);
