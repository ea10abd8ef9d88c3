import { destroyProcessGroup, DistributedDataParallel, initProcessGroup } from 'ringrun';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isFull } from '../../../../test/support/extent.ts';
import { compileStep, manualSeed, optim, type Tensor } from '../../src/index.ts';
import '../support/one-thread.ts';
import { RandomNetwork } from './build.ts';
import { generate } from './generate.ts';
import { describeSteps, type Network } from './network.ts';
import { Random } from './random.ts';
import { withCheckpoints } from './with-checkpoints.ts';

// Random networks with checkpoints at random places train like those without. A network depends only on its number.

const numbers = Array.from({ length: isFull ? 400 : 40 }, (_, i) => (isFull ? i : 10 * i + 3));

beforeAll(() => initProcessGroup());
afterAll(() => destroyProcessGroup());

type Training = (lossOf: (factor: number) => Tensor, optimizer: optim.Optimizer) => Promise<Tensor[]>;

const factors = [1, 0.9, 1.1];

/** Each way to compute steps. */
const ways: Readonly<Record<string, Training>> = {
  'backward and step': async (lossOf, optimizer) => {
    const losses: Tensor[] = [];
    for (const factor of factors) {
      losses.push(lossOf(factor));
      optimizer.zeroGrad();
      await losses.at(-1)!.backward();
      await optimizer.step();
    }
    return losses;
  },
  compileStep: (lossOf, optimizer) => inTurn(compileStep(optimizer, lossOf)),
  traceOnce: (lossOf, optimizer) => inTurn(compileStep(optimizer, lossOf, { traceOnce: true })),
  'step.each': (lossOf, optimizer) =>
    compileStep(optimizer, lossOf, { traceOnce: true }).each(factors.map((factor) => [factor] as const)),
};

async function inTurn(step: (factor: number) => Promise<Tensor>): Promise<Tensor[]> {
  const losses: Tensor[] = [];
  for (const factor of factors) losses.push(await step(factor));
  return losses;
}

async function trained(network: Network, way: Training, wraps = false) {
  const own = new RandomNetwork(network);
  const model = wraps ? new DistributedDataParallel(own) : own;
  manualSeed(7);
  const optimizer = new optim.SGD(model.parameters(), { lr: 1e-3, momentum: 0.9 });
  const losses = await way((factor) => model.forward(factor), optimizer);
  const numbers = await Promise.all(losses.map((loss) => loss.item()));
  return new Map<string, ArrayLike<number | bigint>>([
    ['losses', numbers],
    ...[...own.namedParameters()].map(([name, { grad }]) => [`gradient of ${name}`, grad ?? []] as const),
    ...[...own.stateDict()].map(([name, { data }]) => [name, data] as const),
  ]);
}

/** The largest difference, relative to the largest expected number. NaN and infinities must be equal. */
function differenceOf(found: ArrayLike<number | bigint>, expected: ArrayLike<number | bigint>): number {
  expect(found).toHaveLength(expected.length);
  const [a, b] = [found, expected].map((list) => Array.from(list, Number));
  const size = b.reduce((most, one) => (Number.isFinite(one) ? Math.max(most, Math.abs(one)) : most), 0);
  return a.reduce((most, one, i) => {
    if (Object.is(one, b[i]) || one === b[i]) return most;
    const difference = Math.abs(one - b[i]) / size;
    return Number.isNaN(difference) ? Infinity : Math.max(most, difference);
  }, 0);
}

test.each(
  numbers.map((number) => {
    const network = generate(number);
    const saving = withCheckpoints(network, new Random(number));
    return { title: `${number}: ${describeSteps(saving.steps)}; ${network.loss.name}`, network, saving };
  }),
)('$title', async ({ network, saving }) => {
  for (const [way, train, wraps] of [
    ...Object.entries(ways),
    ['DistributedDataParallel', ways['traceOnce'], true] as const,
  ]) {
    const expected = await trained(network, train, wraps);
    const found = await trained(saving, train, wraps);
    expect([...found.keys()]).toEqual([...expected.keys()]);
    for (const [name, data] of found) {
      // Gradients of a value that is used in and outside of a checkpoint are summed in a different order.
      expect(differenceOf(data, expected.get(name)!), `${way}: ${name}`).toBeLessThan(1e-5);
    }
  }
});
