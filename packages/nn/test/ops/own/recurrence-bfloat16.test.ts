import { describe, expect, test } from 'vitest';
import { autocast, manualSeed, nn, noGrad, Parameter, tensor, type Tensor } from '../../../src/index.ts';
import { bothWays, onThreads } from '../../support/both-ways.ts';
import { fill } from '../../support/fill.ts';
import { expectClose, largest } from '../../support/numeric.ts';
import '../../support/one-thread.ts';

const { packPaddedSequence } = nn.utils.rnn;

const networks = {
  tanh: (inputs: number, size: number) => new nn.RNN(inputs, size, { bidirectional: true }),
  relu: (inputs: number, size: number) =>
    new nn.RNN(inputs, size, { bidirectional: true, nonlinearity: 'relu' }),
  lstm: (inputs: number, size: number) => new nn.LSTM(inputs, size, { bidirectional: true }),
  gru: (inputs: number, size: number) => new nn.GRU(inputs, size, { bidirectional: true }),
};
type Cell = keyof typeof networks;
const cells = Object.keys(networks) as Cell[];

interface Sizes {
  readonly steps: number;
  readonly rows: number;
  readonly size: number;
}

const inBfloat16 = <T>(run: () => T): T => autocast({ dtype: 'bfloat16' }, run);

/** Output, last states, and the gradients of input and parameters, under autocast. */
async function trained(
  cell: Cell,
  { steps, rows, size }: Sizes,
  {
    lengths,
    states = 'none',
  }: { lengths?: readonly number[]; states?: 'none' | 'float32' | 'bfloat16' } = {},
): Promise<Float32Array[]> {
  manualSeed(1);
  const network = networks[cell](5, size);
  const x = new Parameter(fill([steps, rows, 5], 2), [steps, rows, 5]);
  const first = [3, 4].map((seed) => new Parameter(fill([2, rows, size], seed), [2, rows, size]));
  const given = first.map((state) => (states === 'bfloat16' ? state.bfloat16() : state)) as [Tensor, Tensor];
  const { y, lasts } = inBfloat16(() => {
    const input = lengths ? packPaddedSequence(x, lengths, { enforceSorted: false }) : x;
    const [output, last] =
      network instanceof nn.LSTM
        ? network.forward(input, states === 'none' ? undefined : given)
        : network.forward(input, states === 'none' ? undefined : given[0]);
    return {
      y: output instanceof nn.utils.rnn.PackedSequence ? output.padded : output,
      lasts: Array.isArray(last) ? last : [last],
    };
  });
  const loss = [y, ...lasts].map((one, seed) => one.mul(tensor(fill(one.shape, 5 + seed), one.shape)).sum());
  await loss.reduce((sum, one) => sum.add(one)).backward();
  const values = await Promise.all([y, ...lasts].map((one) => one.array()));
  return [...(values as Float32Array[]), ...[x, ...network.parameters()].map(({ grad }) => grad!.slice())];
}

/** Rounding of states and of values between products is 2⁻⁸ of a number, and may change the sign of a number before relu. */
function expectNear(cell: Cell, own: readonly Float32Array[], plain: readonly Float32Array[]): void {
  const tolerance = cell === 'relu' ? 0.1 : 0.03;
  for (const [k, numbers] of own.entries()) {
    expectClose(`result ${k}`, numbers, [...plain[k]], tolerance, Math.max(0.1, largest([...plain[k]])));
  }
}

/** Around the widths of vectors, of pairs of numbers, and of blocks of rows. */
const sizes: Sizes[] = [
  { steps: 1, rows: 1, size: 1 },
  { steps: 3, rows: 2, size: 15 },
  { steps: 5, rows: 9, size: 17 },
  { steps: 2, rows: 35, size: 33 },
  { steps: 4, rows: 17, size: 100 },
];

describe.each(cells)('%s in bfloat16', (cell) => {
  test.each(sizes)('$steps steps of $rows rows of $size are near unrolled steps', async (one) => {
    const { own, plain } = await bothWays(() => trained(cell, one));
    expectNear(cell, own, plain);
  });

  test.each(['float32', 'bfloat16'] as const)('first states of %s', async (states) => {
    const { own, plain } = await bothWays(() => trained(cell, { steps: 3, rows: 6, size: 18 }, { states }));
    expectNear(cell, own, plain);
  });

  test('sequences of any length, 0 after their ends', async () => {
    const lengths = [4, 1, 6, 3, 2, 6, 5, 1, 4];
    const { own, plain } = await bothWays(() => trained(cell, { steps: 6, rows: 9, size: 5 }, { lengths }));
    expectNear(cell, own, plain);
    const places = lengths.flatMap((length, row) =>
      Array.from({ length: 6 - length }, (_, behind) => ((length + behind) * 9 + row) * 10),
    );
    for (const place of places) expect([...own[0].subarray(place, place + 10)]).toEqual(Array(10).fill(0));
  });

  test('results are bit-identical for any number of threads', async () => {
    const compute = () => trained(cell, { steps: 4, rows: 37, size: 20 });
    expect(await onThreads(3, compute)).toEqual(await onThreads(1, compute));
  });

  test('a row with NaN or infinity does not change other rows', async () => {
    manualSeed(1);
    const network = networks[cell](5, 20);
    const x = fill([3, 10, 5], 1);
    const read = async () => {
      const [output] = inBfloat16(() => noGrad(() => network.forward(tensor(x, [3, 10, 5]))));
      return [...((await output.array()) as Float32Array)];
    };
    const before = await read();
    x[5 * 4] = NaN;
    x[5 * 7] = Infinity;
    const after = await read();
    const rowOf = (place: number) => Math.floor(place / 40) % 10;
    const others = after.filter((_, place) => ![4, 7].includes(rowOf(place)));
    expect(others).toEqual(before.filter((_, place) => ![4, 7].includes(rowOf(place))));
    // Both directions of the row reach its first step.
    expect(
      after
        .slice(0, 400)
        .filter((_, place) => rowOf(place) === 4)
        .every(Number.isNaN),
    ).toBe(true);
  });
});

test.each(['tanh', 'relu', 'gru'] as const)(
  '%s: several steps have the bits of single steps, whose states are rounded',
  async (cell) => {
    manualSeed(1);
    const network = cell === 'gru' ? new nn.GRU(5, 19) : new nn.RNN(5, 19, { nonlinearity: cell });
    const x = tensor(fill([4, 9, 5], 1), [4, 9, 5]);
    let state = tensor(fill([1, 9, 19], 2), [1, 9, 19]).bfloat16();
    const [together] = inBfloat16(() => noGrad(() => network.forward(x, state)));
    const steps: number[] = [];
    for (let time = 0; time < 4; time += 1) {
      const [, next] = inBfloat16(() => noGrad(() => network.forward(x.narrow(0, time, 1), state)));
      const numbers = (await next.array()) as Float32Array;
      steps.push(...numbers);
      state = tensor(numbers, [1, 9, 19]).bfloat16();
    }
    expect(together.dtype).toBe('bfloat16');
    expect([...(await together.array())]).toEqual(steps);
  },
);
