import { describe, expect, test } from 'vitest';
import { fakeComputeLibraries } from '../native/test/fake-gpu/libraries.ts';
import { builtScript } from './support/built-script.ts';
import { isFull, ways } from './support/extent.ts';
import { Scenarios } from './support/scenarios.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

const scenarios = new Scenarios(builtScript('gpu-ddp.script'), temporaryFolder());

/** Steps and collectives on the GPU so far. */
interface OnGpu {
  operations: number;
  collectives: number;
  recorded: number;
  replayed: number;
}

interface Trained {
  losses: number[];
  digest: string;
  onGpu: OnGpu;
}

const oneThread = { OMP_NUM_THREADS: 1 };
const nccl = { ...fakeComputeLibraries(), ...oneThread, TEST_BACKEND: 'nccl' };
const gloo = { ...fakeComputeLibraries(), ...oneThread, RINGRUN_DEVICE: 'cuda' };
const limitMs = 120_000;

const models = ways(['synchronized', 'gpt'], ['mnist', 'cifar']);
const both = models.flatMap((model) => [model, `${model}Apart`]);

describe.each(ways([2], [1, 3, 4]))('%d ranks', (size) => {
  const onGpu = scenarios.job(size, both, { env: nccl, limitMs });
  const again = scenarios.job(size, models, { env: nccl, limitMs });
  const onHost = scenarios.job(size, both, { env: gloo, limitMs });
  const onCpu = scenarios.job(size, models, { env: oneThread, limitMs });

  test.each(models)(
    '%s trains as on the CPU, with equal bits on all ranks and in every run',
    async (model) => {
      const found = await onGpu.of<Trained>(model);
      for (const [rank, { losses }] of (await onCpu.of<Trained>(model)).entries()) {
        expect(found[rank].losses).toEqual(losses.map((loss) => expect.closeTo(loss, 4) as number));
      }
      const ends = [
        ...found,
        ...(await onGpu.of<Trained>(`${model}Apart`)),
        ...(isFull ? await again.of<Trained>(model) : []),
      ];
      expect(new Set(ends.map(({ digest }) => digest)).size).toBe(1);
      // Sums of two numbers do not depend on their order.
      if (size > 2 || !isFull) return;
      const ofGloo = [...(await onHost.of<Trained>(model)), ...(await onHost.of<Trained>(`${model}Apart`))];
      if (model !== 'synchronized')
        expect(ofGloo.map(({ digest }) => digest)).toEqual(ofGloo.map(() => ends[0].digest));
      for (const { onGpu: steps } of ofGloo) expect(steps.operations).toBe(0);
    },
  );

  test.skipIf(size === 1)('a step is one operation of the group, which becomes a graph', async () => {
    const [{ onGpu: steps }] = await onGpu.of<Trained>('synchronized');
    expect(steps).toMatchObject({ operations: 5, collectives: 5 * 5 });
    expect(steps.recorded).toBeGreaterThan(0);
    expect(steps.replayed).toBeGreaterThan(0);
  });
});

describe('gradients', () => {
  const names = ['noSync', 'uneven', 'bfloat16Hook', 'powerSgd', 'otherProgram', 'resumed'];
  const onGpu = scenarios.job(2, names, { env: nccl, limitMs });
  const onCpu = scenarios.job(2, names, { env: oneThread, limitMs });

  test.each(['noSync', 'uneven', 'bfloat16Hook', 'powerSgd'])(
    'with %s are those of the CPU',
    async (name) => {
      const [first, second] = await onGpu.of<number[]>(name);
      const [expected] = await onCpu.of<number[]>(name);
      expect(second).toEqual(first);
      expect(first).toEqual(expected.map((number) => expect.closeTo(number, 5) as number));
    },
  );

  test('of a training that was resumed are those of an uninterrupted one, bit by bit', async () => {
    for (const [resumed, uninterrupted] of await onGpu.of<[number[], number[]]>('resumed')) {
      expect(resumed).toEqual(uninterrupted);
    }
  });

  test('of a batch of another size on one rank are averaged by all ranks directly, without a graph', async () => {
    const found = await onGpu.of<{ parameters: number[]; onGpu: OnGpu }>('otherProgram');
    const [expected] = await onCpu.of<{ parameters: number[] }>('otherProgram');
    for (const { parameters } of found) {
      expect(parameters).toEqual(expected.parameters.map((number) => expect.closeTo(number, 5) as number));
    }
  });
});
