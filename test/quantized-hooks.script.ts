// One rank of a test of the hooks that round gradients: see fixtures/run-scenario.ts.
import { join } from 'node:path';
import { F, manualSeed, nn, optim, tensor } from '@ringrun/nn';
import {
  Checkpointer,
  DistributedDataParallel,
  ReduceOp,
  allReduce,
  commHooks,
  defaultGroup,
  getRank,
  type CommHook,
  type GradientBucket,
} from 'ringrun';
import { errorOf } from './fixtures/error-of.ts';
import { runScenario } from './fixtures/run-scenario.ts';

const length = 600;
/** Smaller than any parameter, so each gradient has its own bucket. */
const tinyBucketMb = 1e-6;

function bucketOf(data: Float32Array): GradientBucket {
  const parameters = [{ shape: [data.length] }] as unknown as GradientBucket['parameters'];
  return { index: 0, isLast: true, data, parameters, gradients: () => [data] };
}

/** Averages of the same gradients at every step. */
async function averagesOf(
  hook: CommHook,
  steps: number,
  form: 'later' | 'sync' = 'later',
): Promise<number[][]> {
  const bucket = bucketOf(new Float32Array(length));
  const averages: number[][] = [];
  for (let step = 0; step < steps; step += 1) {
    for (let i = 0; i < length; i += 1) bucket.data[i] = Math.sin((getRank() + 1) * (i + 1));
    if (form === 'sync') hook.sync!(bucket, defaultGroup());
    else await hook(bucket, defaultGroup());
    averages.push([...bucket.data]);
  }
  return averages;
}

const meanOf = (lists: readonly number[][]) =>
  lists[0].map((_, i) => lists.reduce((sum, list) => sum + list[i], 0) / lists.length);

/** Losses of a small classifier, averaged over the ranks. */
async function lossesWith(hook?: CommHook): Promise<number[]> {
  manualSeed(3);
  const net = new nn.Sequential(new nn.Linear(16, 48), new nn.Tanh(), new nn.Linear(48, 4));
  const ddp = new DistributedDataParallel(net);
  if (hook) ddp.registerCommHook(hook);
  const optimizer = new optim.SGD(ddp.parameters(), { lr: 0.1, momentum: 0.9 });
  const losses = new Float64Array(60);
  for (let step = 0; step < losses.length; step += 1) {
    const seed = getRank() + 1 + 2 * (step % 4);
    const input = Float32Array.from({ length: 8 * 16 }, (_, i) => Math.sin((i + 1) * seed));
    const classes = BigInt64Array.from({ length: 8 }, (_, i) =>
      BigInt(Math.round(Math.abs(input[16 * i]) * 3)),
    );
    optimizer.zeroGrad();
    const loss = F.crossEntropy(ddp.forward(tensor(input, [8, 16])), tensor(classes));
    await loss.backward();
    await optimizer.step();
    losses[step] = await loss.item();
  }
  await allReduce(losses, { op: ReduceOp.AVG });
  return [...losses];
}

function resumable(dir: string) {
  manualSeed(7);
  const ddp = new DistributedDataParallel(new nn.Linear(16, 32), { bucketCapMb: tinyBucketMb });
  const hook = commHooks.int8Compress();
  ddp.registerCommHook(hook);
  const optimizer = new optim.SGD(ddp.parameters(), { lr: 0.1 });
  const checkpoints = new Checkpointer({ dir });
  checkpoints.register({ ddp, optimizer });
  checkpoints.register({ feedback: hook.rankState }, { perRank: true });
  const train = async (from: number, to: number) => {
    for (let step = from; step < to; step += 1) {
      const input = Float32Array.from({ length: 64 }, (_, i) =>
        Math.sin((i + 1) * (step + 1) * (getRank() + 1)),
      );
      optimizer.zeroGrad();
      const output = ddp
        .forward(tensor(input, [4, 16]))
        .tanh()
        .sum();
      await output.backward();
      await optimizer.step();
    }
  };
  return { checkpoints, train, result: () => [...ddp.module.weight.data, ...ddp.module.bias!.data] };
}

await runScenario({
  async averages() {
    const { int8Compress, int4Compress, allReduce: exact } = commHooks;
    return {
      exact: (await averagesOf(exact, 1))[0],
      int8: (await averagesOf(int8Compress(), 1))[0],
      int4: (await averagesOf(int4Compress(), 1))[0],
      meanWithFeedback: meanOf(await averagesOf(int4Compress(), 32)),
      meanWithout: meanOf(await averagesOf(int4Compress({ errorFeedback: false }), 32)),
      later: await averagesOf(int8Compress(), 3, 'later'),
      sync: await averagesOf(int8Compress(), 3, 'sync'),
    };
  },

  async losses() {
    return {
      exact: await lossesWith(),
      int8: await lossesWith(commHooks.int8Compress()),
      int4: await lossesWith(commHooks.int4Compress()),
    };
  },

  /** Two steps of gradients of 1 and 2, of which one is NaN on rank 1 in the first step. */
  async notANumber() {
    const hook = commHooks.int8Compress();
    const bucket = bucketOf(new Float32Array(length));
    const steps: number[][] = [];
    for (let step = 0; step < 2; step += 1) {
      bucket.data.fill(getRank() + 1);
      if (step === 0 && getRank() === 1) bucket.data[300] = NaN;
      await hook(bucket, defaultGroup());
      steps.push([0, 255, 256, 511, 512, 599].map((i) => bucket.data[i]));
    }
    return steps.map((values) => values.map(String));
  },

  /** Six steps, and three steps that are resumed from a checkpoint after three. */
  async resumed() {
    const folder = process.argv[3];
    const whole = resumable(join(folder, 'whole'));
    await whole.train(0, 6);
    const first = resumable(join(folder, 'resumed'));
    await first.train(0, 3);
    await first.checkpoints.save({ step: 3 });
    await first.checkpoints.finished();
    const second = resumable(join(folder, 'resumed'));
    const resumed = await second.checkpoints.resume('auto');
    await second.train(3, 6);
    return { step: resumed?.step, whole: whole.result(), resumed: second.result() };
  },

  async refused() {
    const problemOf = async (act: () => unknown) => (await errorOf(act))?.message;
    const hook = commHooks.int8Compress();
    await hook(bucketOf(new Float32Array(4)), defaultGroup());
    return [
      await problemOf(() => commHooks.int8Compress({ feedback: false } as never)),
      await problemOf(() => hook(bucketOf(new Float32Array(4)), defaultGroup())),
      await problemOf(() =>
        hook.rankState!.loadStateDict({ buckets: [{ errors: new Float32Array(5) }] } as never),
      ),
    ];
  },
});
