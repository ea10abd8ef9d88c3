// One rank of a test of LocalSGD and DiLoCo: see fixtures/run-scenario.ts.
import { join } from 'node:path';
import { F, manualSeed, nn, optim, tensor, type Tensor } from '@ringrun/nn';
import { Trainer, type Callback, type TrainerOptions } from '@ringrun/train';
import {
  Checkpointer,
  DataLoader,
  DiLoCo,
  DistributedDataParallel,
  DistributedSampler,
  LocalSGD,
  formIslands,
  getRank,
  getWorldSize,
  type DiLoCoOptions,
} from 'ringrun';
import { errorOf } from './fixtures/error-of.ts';
import { runScenario } from './fixtures/run-scenario.ts';

const width = 7;

class Net extends nn.Module {
  hidden = new nn.Linear(width, 5);
  norm = new nn.BatchNorm1d(5);
  output = new nn.Linear(5, 3);

  forward(input: Tensor): Tensor {
    return this.output.forward(this.norm.forward(this.hidden.forward(input)).tanh());
  }
}

/** The inputs of a step, which differ between ranks. */
function inputOf(step: number): Tensor {
  const values = Float32Array.from({ length: 4 * width }, (_, i) =>
    Math.sin((i + 1) * (step + 1) * (getRank() + 2)),
  );
  return tensor(values, [4, width]);
}

function newNet(): Net {
  manualSeed(7);
  return new Net();
}

const valuesOf = (module: nn.Module) => [...module.parameters()].flatMap(({ data }) => [...data]);

type Wrapped = DiLoCo<Net> | DistributedDataParallel<Net>;

async function localStep(model: Wrapped, optimizer: optim.Optimizer, step: number): Promise<void> {
  optimizer.zeroGrad();
  await model.forward(inputOf(step)).square().mean().backward();
  await optimizer.step();
}

/** The parameters before and after `step()` of each step, and at the end. */
async function traced(options: DiLoCoOptions, steps: number) {
  const model = new DiLoCo(newNet(), options);
  const initial = valuesOf(model.module);
  const optimizer = new optim.AdamW(model.parameters(), { lr: 0.05 });
  const found: { before: number[]; after: number[] }[] = [];
  for (let step = 0; step < steps; step += 1) {
    await localStep(model, optimizer, step);
    const before = valuesOf(model.module);
    await model.step();
    found.push({ before, after: valuesOf(model.module) });
  }
  const common = await model.withGlobalParameters(() => Promise.resolve(valuesOf(model.module)));
  const own = valuesOf(model.module);
  await model.synchronize();
  return { initial, found, common, own, synchronized: valuesOf(model.module) };
}

/** Eleven steps, and eleven that are resumed from a checkpoint after `saved`. */
async function resumedAfter(saved: number, options: DiLoCoOptions) {
  const folder = process.argv[3];
  const make = (dir: string) => {
    const streaming = { innerSteps: 6, fragments: 3, overlapSteps: 2, transport: 'int8' } as const;
    const model = new DiLoCo(newNet(), { ...streaming, ...options });
    const optimizer = new optim.AdamW(model.parameters(), { lr: 0.05 });
    const checkpoints = new Checkpointer({ dir });
    checkpoints.register({ model });
    checkpoints.register({ inner: model.rankState, optimizer }, { perRank: true });
    const train = async (from: number, to: number) => {
      for (let step = from; step < to; step += 1) {
        await localStep(model, optimizer, step);
        await model.step();
      }
    };
    return { model, checkpoints, train };
  };
  const whole = make(join(folder, 'whole'));
  await whole.train(0, 11);
  const first = make(join(folder, 'resumed'));
  await first.train(0, saved);
  await first.checkpoints.save({ step: saved });
  await first.checkpoints.finished();
  // The checkpoint does not disturb the training.
  await first.train(saved, 11);
  const second = make(join(folder, 'resumed'));
  const resumed = await second.checkpoints.resume('auto');
  const steps = second.model.steps;
  await second.train(saved, 11);
  const [own, continued, again] = [whole, first, second].map(({ model }) => valuesOf(model.module));
  for (const { model } of [whole, second]) await model.synchronize();
  const [synchronized, synchronizedAgain] = [whole, second].map(({ model }) => valuesOf(model.module));
  return { step: resumed?.step, steps, own, continued, again, synchronized, synchronizedAgain };
}

const pairs = [
  [0, 1],
  [2, 3],
];

await runScenario({
  async everyStep() {
    const train = async (model: Wrapped) => {
      const optimizer = new optim.SGD(model.parameters(), { lr: 0.1 });
      for (let step = 0; step < 4; step += 1) {
        await localStep(model, optimizer, step);
        if (model instanceof DiLoCo) await model.step();
      }
      return valuesOf(model.module);
    };
    return {
      ddp: await train(new DistributedDataParallel(newNet())),
      local: await train(new LocalSGD(newNet(), { innerSteps: 1 })),
    };
  },

  classic: () => traced({ innerSteps: 3 }, 9),

  streaming: () => traced({ innerSteps: 6, fragments: 3, overlapSteps: 2 }, 18),

  async islands() {
    const islands = await formIslands(getWorldSize() === 4 ? pairs : [[0], [1, 2]]);
    return await traced({ innerSteps: 3, islands, outer: { lr: 1, momentum: 0 } }, 6);
  },

  /** On one host the ranks of a host are all ranks: nothing is left to exchange. */
  async oneHost() {
    const islands = await formIslands();
    return {
      island: islands.island?.size,
      across: islands.across,
      ...(await traced({ innerSteps: 2, islands }, 4)),
    };
  },

  /** A DiLoCo whose first five steps are those of DistributedDataParallel, and both. */
  async warmup() {
    const ddp = new DistributedDataParallel(newNet());
    const optimizer = new optim.AdamW(ddp.parameters(), { lr: 0.05 });
    const averaged: number[][] = [];
    for (let step = 0; step < 5; step += 1) {
      await localStep(ddp, optimizer, step);
      averaged.push(valuesOf(ddp.module));
    }
    const islands = getWorldSize() === 4 && (await formIslands(pairs));
    const options = { innerSteps: 3, warmupSteps: 5, ...(islands && { islands }) };
    return { averaged, ...(await traced(options, 11)) };
  },

  /** While a fragment is under way. */
  resumed: () => resumedAfter(7, {}),

  resumedInWarmup: () => resumedAfter(2, { warmupSteps: 4 }),

  resumedAfterWarmup: () => resumedAfter(4, { warmupSteps: 4 }),

  /** Two epochs of eight steps by the Trainer, at once and in two runs. */
  async trainer() {
    const folder = process.argv[3];
    const samples = Array.from({ length: 64 }, (_, i) => ({
      input: Float32Array.from({ length: width }, (_, j) => Math.sin((i + 1) * (j + 2))),
      target: Float32Array.of(Math.cos(i), 1, 0),
    }));
    const fit = async (dir: string, way: Pick<TrainerOptions, 'diloco' | 'callbacks'>) => {
      const model = newNet();
      const optimizer = new optim.AdamW([...model.parameters()], { lr: 0.05 });
      const sampler = new DistributedSampler(samples);
      const loader = new DataLoader(samples, { batchSize: 4, sampler });
      const checkpoint = { dir: join(folder, dir), everyNTrainSteps: 1 };
      const trainer = new Trainer({
        maxSteps: 16,
        ...way,
        checkpoint,
        resume: 'auto',
        enableProgressBar: false,
      });
      const options = { trainLoader: loader, validationLoader: loader, optimizer, loss: F.mseLoss };
      const { validation, globalStep } = await trainer.fit(model, options);
      return { values: valuesOf(model), loss: validation?.['loss'], globalStep };
    };
    const diloco = { innerSteps: 8, fragments: 2, overlapSteps: 2, outer: { lr: 1, momentum: 0 } };
    const ddp = await fit('ddp', {});
    const whole = await fit('whole', { diloco });
    const failing: Callback = {
      onTrainBatchEnd: ({ globalStep }) => {
        if (globalStep === 9) throw new Error('step 9');
      },
    };
    // The second fragment is under way after step 8, which is saved.
    const failure = await errorOf(() => fit('resumed', { diloco, callbacks: [failing] }));
    const resumed = await fit('resumed', { diloco });
    const warm = { ...diloco, warmupSteps: 16 };
    await errorOf(() => fit('warm', { diloco: warm, callbacks: [failing] }));
    const inWarmup = await fit('warm', { diloco: warm });
    const beyond = await fit('beyond', { diloco: { ...diloco, warmupSteps: 14 } });
    const refused = await errorOf(() => fit('refused', { diloco: { ...diloco, alpha: 3 } }));
    const problems = { failure: failure?.message, refused: refused?.message };
    return { ddp, whole, resumed, inWarmup, beyond, ...problems };
  },

  async refused() {
    const problemOf = async (act: () => unknown) => {
      const error = await errorOf(act);
      return error === undefined ? 'none' : `${error.code}: ${error.message}`;
    };
    const frozen = newNet().requiresGrad(false);
    return [
      await problemOf(() => new DiLoCo(newNet(), { innerSteps: 0 })),
      await problemOf(() => new DiLoCo(newNet(), { warmupSteps: -1 })),
      await problemOf(() => new DiLoCo(newNet(), { fragments: 101 })),
      await problemOf(() => new DiLoCo(newNet(), { overlapSteps: 100 })),
      await problemOf(() => new DiLoCo(newNet(), { alpha: 2 })),
      await problemOf(() => new LocalSGD(newNet(), { transport: 'int3' as never })),
      await problemOf(() => new DiLoCo(newNet(), { outer: { lr: -1 } })),
      await problemOf(() => new DiLoCo(newNet(), { outer: { nesterow: true } as never })),
      await problemOf(() => new DiLoCo(frozen)),
      await problemOf(() => formIslands([[0], [0]])),
    ];
  },

  /** Every rank throws, and names the option. */
  async differing() {
    const error = await errorOf(() => new DiLoCo(newNet(), { innerSteps: 5 + getRank() }));
    return `${error?.code}: ${error?.message}`;
  },
});
