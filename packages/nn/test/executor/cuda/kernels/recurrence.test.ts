import { describe, test } from 'vitest';
import { recurrences } from '../../../../src/executor/cuda/kernels/recurrence.ts';
import { createNode, type Node } from '../../../../src/graph/node.ts';
import { tensor } from '../../../../src/index.ts';
import { gatesOf, recurrence } from '../../../../src/ops/own/recurrence.ts';
import { fill } from '../../../support/fill.ts';
import { expectAsOnCpu } from './harness.ts';

const value = (shape: readonly number[], seed: number) => tensor(fill(shape, seed), shape).value;
const [steps, rows, size] = [5, 3, 7];
const lengths = tensor(BigInt64Array.of(5n, 0n, 3n)).value;

describe.each(['tanh', 'relu', 'lstm', 'gru'] as const)('%s', (cell) => {
  test.each([
    [false, false],
    [true, false],
    [false, true],
    [true, true],
  ])('agrees with the CPU, reverse %s, with lengths %s', async (reverse, hasLengths) => {
    const width = gatesOf[cell] * size;
    const isLstm = cell === 'lstm';
    const saves = isLstm || cell === 'gru';
    const [state, firstCell] = [value([rows, size], 3), isLstm ? value([rows, size], 4) : undefined];
    const given = {
      ...{ gates: value([steps, rows, width], 1), weight: value([width, size], 2), state },
      ...{ cellState: firstCell, bias: value([width], 5), lengths: hasLengths ? lengths : undefined },
    };
    const node = recurrence(cell, reverse, given).states.node as Node<'Recurrence'>;
    const { outputs, attributes } = node;
    // The saved arrays have no elements for steps behind a length.
    const saved = saves && hasLengths ? [outputs.length - 2, outputs.length - 1] : [];
    await expectAsOnCpu(node, recurrences.Recurrence, { unread: saved });
    for (const received of [[true, true, isLstm] as const, [true, false, false] as const]) {
      const all = [value(outputs[0].shape, 6), value(state.shape, 7), value(state.shape, 8)];
      const inputs = [
        ...[
          outputs[0],
          given.weight,
          state,
          ...(firstCell ? [firstCell] : []),
          ...(hasLengths ? [lengths] : []),
        ],
        ...[...(saves ? outputs.slice(-2) : []), ...all.filter((_, k) => received[k])],
      ];
      const types = [given.gates, given.gates, outputs[0], state, state];
      const gradient = createNode('RecurrenceGradient', inputs, { ...attributes, given: received }, types);
      const unread = [...(cell === 'gru' ? [] : [1]), ...(isLstm ? [] : [4])];
      await expectAsOnCpu(gradient, recurrences.RecurrenceGradient, { unread, tolerance: 5e-6 });
    }
  });
});
