// One rank of a test of DistributedDataParallel on GPUs: see fixtures/run-scenario.ts.
import { BasicBlock, Cnn } from '@ringrun/examples-cifar';
import { GPT } from '@ringrun/examples-gpt';
import { Net } from '@ringrun/examples-mnist';
import { F, compileStep, manualSeed, nn, optim, tensor, type Parameter, type Tensor } from '@ringrun/nn';
import {
  DistributedDataParallel,
  commHooks,
  getNcclGroup,
  getRank,
  getWorldSize,
  newGroup,
  parametersDigest,
  type ForwardModule,
  type ProcessGroup,
} from 'ringrun';
import { errorOf } from './fixtures/error-of.ts';
import { runScenario } from './fixtures/run-scenario.ts';

/** Steps of the programs of this process that have collectives. */
const onGpu = { operations: 0, collectives: 0, recorded: 0, replayed: 0 };

/** Counts the steps from now on. */
function countSteps(): void {
  if (process.env.TEST_BACKEND !== 'nccl') return;
  const group = getNcclGroup();
  const run = group.runProgram.bind(group);
  group.runProgram = async (program, exchanges) => {
    await run(program, exchanges);
    const { recorded, replayed } = (program as { statistics: { recorded: number; replayed: number } })
      .statistics;
    onGpu.operations += 1;
    onGpu.collectives += exchanges.length;
    onGpu.recorded = Math.max(onGpu.recorded, recorded);
    onGpu.replayed = Math.max(onGpu.replayed, replayed);
  };
}

const size = (shape: readonly number[]) => shape.reduce((product, one) => product * one, 1);

/** The images of one rank and step, so that each batch differs. */
function images(step: number, ...shape: number[]): Tensor {
  const seed = 10 * step + getRank();
  return tensor(
    Float32Array.from({ length: size(shape) }, (_, i) => (((i * 37 + seed * 11) % 127) - 63) / 64),
    shape,
  );
}

function integers(step: number, below: number, ...shape: number[]): Tensor {
  return tensor(
    BigInt64Array.from({ length: size(shape) }, (_, i) => BigInt((i * 7 + step + 3 * getRank()) % below)),
    shape,
  );
}

interface Training {
  readonly model: nn.Module;
  readonly optimizer: (parameters: Iterable<Parameter>) => optim.Optimizer;
  readonly lossOf: (forward: (x: Tensor) => Tensor, x: Tensor, y: Tensor) => Tensor;
  readonly batch: (step: number) => readonly [x: Tensor, y: Tensor];
  readonly clips?: boolean;
}

const trainings: Record<string, () => Training> = {
  mnist: () => ({
    model: new Net(),
    optimizer: (parameters) => new optim.SGD(parameters, { lr: 0.05, momentum: 0.5 }),
    lossOf: (forward, x, y) => F.nllLoss(forward(x), y),
    batch: (step) => [images(step, 4, 1, 28, 28), integers(step, 10, 4)],
  }),
  cifar: () => ({
    model: new Cnn(),
    optimizer: (parameters) => new optim.Adam(parameters, { lr: 0.001 }),
    lossOf: (forward, x, y) => F.nllLoss(forward(x), y),
    batch: (step) => [images(step, 2, 3, 32, 32), integers(step, 10, 2)],
  }),
  synchronized: () => ({
    model: nn.SyncBatchNorm.convertSyncBatchNorm(
      new nn.Sequential(
        new nn.Conv2d(3, 4, 3, { padding: 1 }),
        new BasicBlock(4, 4, 1),
        new nn.Flatten(),
        new nn.Linear(4 * 64, 10),
      ),
    ),
    optimizer: (parameters) => new optim.SGD(parameters, { lr: 0.01, momentum: 0.9 }),
    lossOf: (forward, x, y) => F.crossEntropy(forward(x), y),
    batch: (step) => [images(step, 2, 3, 8, 8), integers(step, 10, 2)],
  }),
  gpt: () => ({
    model: new GPT({ vocabSize: 11, context: 8, layers: 1, heads: 2, width: 16 }),
    optimizer: (parameters) => new optim.AdamW(parameters, { lr: 0.001 }),
    lossOf: (forward, x, y) => F.crossEntropy(forward(x).view(-1, 11), y.view(-1)),
    batch: (step) => [integers(step, 11, 3, 8), integers(step + 1, 9, 3, 8)],
    clips: true,
  }),
};

const steps = 5;

/** Trains a model, with a whole step as one program or not. Returns the losses and the digest of the parameters. */
async function train(name: string, { compiled }: { compiled: boolean }) {
  manualSeed(5);
  countSteps();
  const { model, optimizer: optimizerOf, lossOf, batch, clips = false } = trainings[name]();
  const ddp = new DistributedDataParallel(model as unknown as nn.Module & ForwardModule, {
    bucketCapMb: 0.02,
  });
  const optimizer = optimizerOf(model.parameters());
  const clipping = clips ? { clipGradNorm: 0.5 } : {};
  const forward = (x: Tensor) => ddp.forward(x as never) as Tensor;
  const loss = (x: Tensor, y: Tensor) => lossOf(forward, x, y);
  const step = compileStep(optimizer, loss, clipping);
  const losses: number[] = [];
  for (let i = 0; i < steps; i += 1) {
    const [x, y] = batch(i);
    if (compiled) losses.push(await (await step(x, y)).item());
    else {
      optimizer.zeroGrad();
      const one = loss(x, y);
      await one.backward();
      await optimizer.step(clipping);
      losses.push(await one.item());
    }
  }
  return { losses, digest: parametersDigest(model), onGpu: { ...onGpu } };
}

/** A linear model on points, with gradients in two buckets, and its first parameters. */
function linear(processGroup?: ProcessGroup) {
  manualSeed(9);
  const model = new nn.Sequential(new nn.Linear(5, 7), new nn.Tanh(), new nn.Linear(7, 3));
  const ddp = new DistributedDataParallel(model, {
    bucketCapMb: 1e-4,
    ...(processGroup && { processGroup }),
  });
  const optimizer = new optim.SGD(ddp.parameters(), { lr: 0.1, momentum: 0.9 });
  const lossOf = (step: number, samples = 4) =>
    ddp
      .forward(images(step, samples, 5))
      .pow(2)
      .mean();
  return { model, ddp, optimizer, lossOf };
}

type Saved = {
  readonly model: ReturnType<nn.Module['stateDict']>;
  readonly optimizer: ReturnType<optim.Optimizer['stateDict']>;
};

const parametersOf = (model: nn.Module) => [...model.parameters()].flatMap(({ data }) => [...data]);

await runScenario({
  ...Object.fromEntries(
    Object.keys(trainings).flatMap((name) => [
      [name, () => train(name, { compiled: true })],
      [`${name}Apart`, () => train(name, { compiled: false })],
    ]),
  ),

  /** Gradients of several passes, of which the last one averages. */
  async noSync() {
    const { model, ddp, optimizer, lossOf } = linear();
    for (let step = 0; step < 3; step += 1) {
      optimizer.zeroGrad();
      await ddp.noSync(() => lossOf(2 * step).backward());
      await lossOf(2 * step + 1).backward();
      await optimizer.step();
    }
    return parametersOf(model);
  },

  /** Rank 0 has more batches than the others, of different sizes. */
  async uneven() {
    const { model, ddp, optimizer, lossOf } = linear();
    await ddp.join(async () => {
      for (let step = 0; step < (getRank() === 0 ? 4 : 2); step += 1) {
        optimizer.zeroGrad();
        await lossOf(step, 3 + getRank()).backward();
        await optimizer.step();
      }
    });
    return parametersOf(model);
  },

  async bfloat16Hook() {
    const { model, ddp, optimizer, lossOf } = linear();
    ddp.registerCommHook(commHooks.bf16Compress);
    for (let step = 0; step < 3; step += 1) {
      optimizer.zeroGrad();
      await lossOf(step).backward();
      await optimizer.step();
    }
    return parametersOf(model);
  },

  async powerSgd() {
    const { model, ddp, optimizer, lossOf } = linear();
    ddp.registerCommHook(commHooks.powerSgd({ startPowerSgdIter: 2, minCompressionRate: 0.5 }));
    for (let step = 0; step < 3; step += 1) {
      optimizer.zeroGrad();
      await lossOf(step).backward();
      await optimizer.step();
    }
    return parametersOf(model);
  },

  /** Training that a checkpoint interrupts, and training without one. */
  async resumed() {
    const train = async (steps: readonly number[], from?: Saved) => {
      const { model, optimizer, lossOf } = linear();
      if (from) {
        model.loadStateDict(from.model);
        optimizer.loadStateDict(from.optimizer);
      }
      for (const step of steps) {
        optimizer.zeroGrad();
        await lossOf(step).backward();
        await optimizer.step();
      }
      return { model, saved: { model: model.stateDict(), optimizer: optimizer.stateDict() } };
    };
    const { saved } = await train([0, 1]);
    const resumed = await train([2, 3], saved);
    const uninterrupted = await train([0, 1, 2, 3]);
    return [parametersOf(resumed.model), parametersOf(uninterrupted.model)];
  },

  /** The last batch of rank 0 is smaller, so its program is another one; then all repeat theirs. */
  async otherProgram() {
    const { model, optimizer, lossOf } = linear();
    countSteps();
    for (const samples of [4, 4, 4, getRank() === 0 ? 2 : 4, 4, 4]) {
      optimizer.zeroGrad();
      await lossOf(samples, samples).backward();
      await optimizer.step();
    }
    return { parameters: parametersOf(model), onGpu: { ...onGpu } };
  },

  /** The last rank runs a barrier instead of a step. */
  async disagree() {
    const { lossOf } = linear();
    await lossOf(0).backward();
    const isLast = getRank() === getWorldSize() - 1;
    const error = await errorOf(() => (isLast ? getNcclGroup().barrier() : lossOf(1).backward()));
    return { name: error?.name, message: error?.message };
  },

  /** The last rank normalizes more channels than the others. */
  async otherLengths() {
    const channels = getRank() === getWorldSize() - 1 ? 2 : 1;
    const norm = new nn.SyncBatchNorm(channels);
    const error = await errorOf(() => norm.forward(images(0, 4, channels)).array());
    return { name: error?.name, message: error?.message };
  },

  /** The last rank begins the second step later than at the timeout. */
  async missing() {
    const group = (await newGroup(undefined, { timeoutMs: 1500 }))!;
    const { model, optimizer, lossOf } = linear(group);
    await lossOf(0).backward();
    await optimizer.step();
    const before = parametersOf(model);
    if (getRank() === getWorldSize() - 1) {
      await new Promise((resolve) => setTimeout(resolve, 3000));
      const late = await errorOf(() => group.barrier());
      return { name: late?.name };
    }
    const error = await errorOf(async () => {
      await lossOf(1).backward();
      await optimizer.step();
    });
    const isUnchanged = parametersOf(model).every((number, index) => number === before[index]);
    return { name: error?.name, message: error?.message, isUnchanged };
  },

  /** NCCL or the driver of the last rank fails in a step: TEST_FAULT, after TEST_STEPS. */
  async failing() {
    const group = (await newGroup(undefined, { timeoutMs: 4000 }))!;
    const { optimizer, lossOf } = linear(group);
    const step = compileStep(optimizer, lossOf);
    for (let i = 0; i < Number(process.env.TEST_STEPS); i += 1) await step(0, 4);
    if (getRank() === getWorldSize() - 1) process.env.RINGRUN_FAKE_GPU_FAULT = process.env.TEST_FAULT;
    const startedAt = performance.now();
    const error = await errorOf(() => step(0, 4));
    const seconds = (performance.now() - startedAt) / 1000;
    Reflect.deleteProperty(process.env, 'RINGRUN_FAKE_GPU_FAULT');
    const next = await errorOf(() => group.barrier());
    return { name: error?.name, message: error?.message, next: next?.name, seconds };
  },
});
