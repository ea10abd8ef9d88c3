// One rank of a test of shareParameters: see fixtures/run-scenario.ts.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { serialize, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { registry } from '@ringrun/core';
import {
  compileStep,
  F,
  manualSeed,
  nn,
  noGrad,
  optim,
  programCache,
  tensor,
  type Tensor,
} from '@ringrun/nn';
import {
  Checkpointer,
  commHooks,
  DistributedDataParallel,
  destroyProcessGroup,
  getRank,
  getWorldSize,
  initProcessGroup,
  newGroup,
  parametersDigest,
  type DistributedDataParallelOptions,
} from 'ringrun';
import { errorOf } from './fixtures/error-of.ts';
import { runScenario } from './fixtures/run-scenario.ts';
import { separateMemory, type Executor } from './fixtures/separate-memory.ts';

// As if the last rank were on a host of its own.
if (process.env['TWO_HOSTS'] === '1') {
  const isLast = Number(process.env['RANK']) === Number(process.env['WORLD_SIZE']) - 1;
  process.env['RINGRUN_HOST_ID'] = isLast ? 'second' : 'first';
}

/** Sizes that no number of ranks divides, parameters shorter than a cache line, and one that ranks divide. */
class Net extends nn.Module {
  conv = new nn.Conv2d(1, 3, 3);
  norm = new nn.BatchNorm2d(3);
  hidden = new nn.Linear(3 * 3 * 3, 37);
  extra = new nn.Linear(37, 37);
  wide = new nn.Linear(37, 2003);
  output = new nn.Linear(2003, 5);

  /** [N, 1, 8, 8] to the logarithms of 5 probabilities. */
  forward(images: Tensor, usesExtra = true): Tensor {
    const features = F.flatten(F.maxPool2d(F.relu(this.norm.forward(this.conv.forward(images))), 2));
    const hidden = F.relu(this.hidden.forward(features));
    const wide = this.wide.forward(usesExtra ? hidden.add(this.extra.forward(hidden)) : hidden);
    return F.logSoftmax(this.output.forward(F.relu(wide)), 1);
  }
}

type Ddp = DistributedDataParallel<Net>;
type Step = (ddp: Ddp, optimizer: optim.Optimizer, step: number) => Promise<void>;

function batch(step: number): [images: Tensor, labels: Tensor] {
  const numbers = Float32Array.from({ length: 6 * 64 }, (_, i) => Math.sin(i * (step + 1) + getRank()));
  return [tensor(numbers, [6, 1, 8, 8]), tensor(BigInt64Array.from([0n, 1n, 2n, 3n, 4n, 0n]))];
}

function lossOf(ddp: Ddp, step: number, usesExtra = true): Tensor {
  const [images, labels] = batch(step);
  return F.nllLoss(ddp.forward(images, usesExtra), labels);
}

const plainStep: Step = async (ddp, optimizer, step) => {
  optimizer.zeroGrad();
  await lossOf(ddp, step).backward();
  await optimizer.step();
};

interface Variant {
  optimizer?: (model: Net) => optim.Optimizer;
  options?: DistributedDataParallelOptions;
  prepare?: (ddp: Ddp) => void;
  step?: Step;
  /** Whether the step is compiled: then shared parameters have no gradients behind it. */
  isCompiled?: boolean;
}

const variants: Readonly<Record<string, Variant>> = {
  sgd: { optimizer: (model) => new optim.SGD(model.parameters(), { lr: 0.1 }) },
  momentum: {
    optimizer: (model) => new optim.SGD(model.parameters(), { lr: 0.1, momentum: 0.9, nesterov: true }),
  },
  adam: {},
  amsgrad: { optimizer: (model) => new optim.AdamW(model.parameters(), { lr: 0.01, amsgrad: true }) },
  rmsprop: { optimizer: (model) => new optim.RMSprop(model.parameters(), { lr: 0.01, momentum: 0.5 }) },
  adadelta: { optimizer: (model) => new optim.Adadelta(model.parameters()) },
  adagrad: {
    optimizer: (model) =>
      new optim.Adagrad(model.parameters(), { lr: 0.01, initialAccumulatorValue: 0.1, lrDecay: 0.1 }),
  },
  nadam: { optimizer: (model) => new optim.NAdam(model.parameters()) },
  overlapped: { options: { overlap: true, bucketCapMb: 1e-6, verifyEvery: 2 } },
  hook: {
    prepare: (ddp) => {
      ddp.registerCommHook(commHooks.bf16Compress);
    },
  },
  clipped: {
    step: async (ddp, optimizer, step) => {
      optimizer.zeroGrad();
      await lossOf(ddp, step).backward();
      nn.utils.clipGradNorm(ddp.parameters(), 0.05);
      await optimizer.step();
    },
  },
  clippedInStep: {
    isCompiled: true,
    step: async (ddp, optimizer, step) => {
      await compileStep(optimizer, () => lossOf(ddp, step), { clipGradNorm: 0.05 })();
    },
  },
  accumulated: {
    step: async (ddp, optimizer, step) => {
      optimizer.zeroGrad();
      await ddp.noSync(() => lossOf(ddp, 2 * step).backward());
      await lossOf(ddp, 2 * step + 1).backward();
      await optimizer.step();
    },
  },
  // Rank 0 alone uses a layer in some steps, no rank does in others.
  unused: {
    step: async (ddp, optimizer, step) => {
      optimizer.zeroGrad();
      await lossOf(ddp, step, step % 3 === 0 || (step % 3 === 1 && getRank() === 0)).backward();
      await optimizer.step();
    },
  },
  // A frozen layer, and groups with different settings.
  groups: {
    optimizer: ({ conv, hidden, output }) =>
      new optim.Adam([
        { params: [...conv.parameters(), ...hidden.parameters()], weightDecay: 0.1 },
        { params: output.parameters(), lr: 0.02 },
      ]),
    step: async (ddp, optimizer, step) => {
      if (step === 3) optimizer.addParamGroup({ params: ddp.module.extra.parameters() });
      await plainStep(ddp, optimizer, step);
    },
  },
  compiled: {
    isCompiled: true,
    step: async (ddp, optimizer, step) => {
      await compileStep(optimizer, () => lossOf(ddp, step))();
    },
  },
  // Rank 0 has a gradient that is not finite in every second step, so that all ranks fail in it.
  notFinite: {
    isCompiled: true,
    options: { verifyEvery: 3 },
    step: async (ddp, optimizer, step) => {
      const isBad = step % 2 === 1;
      const factor = tensor(Float32Array.of(isBad && getRank() === 0 ? NaN : 1));
      const clipGradNorm = { maxNorm: 0.05, errorIfNonfinite: true };
      const train = compileStep(
        optimizer,
        () =>
          lossOf(ddp, step, !isBad || getRank() === 0)
            .mul(factor)
            .sum(),
        {
          clipGradNorm,
        },
      );
      const error = await errorOf(() => train());
      const expected = isBad ? 'ERR_NONFINITE' : undefined;
      if (error?.code !== expected) throw new Error(`expected ${expected}, got ${error?.message}`);
    },
  },
  // In one run on the ranks whose loss uses all layers, in several runs on the others.
  compiledUnused: {
    isCompiled: true,
    options: { overlap: true, bucketCapMb: 1e-6, verifyEvery: 4 },
    step: async (ddp, optimizer, step) => {
      const uses = step % 3 === 0 || (step % 3 === 1 && getRank() === 0);
      const clipGradNorm = { maxNorm: 0.01, normType: Infinity };
      await compileStep(optimizer, () => lossOf(ddp, step, uses), { clipGradNorm })();
    },
  },
  // Rank 0 makes its calls from JavaScript in some steps, the others from inside their graphs.
  observed: {
    isCompiled: true,
    step: async (ddp, optimizer, step) => {
      if (getRank() === 0) registry.activityObserver = step % 3 === 1 ? () => undefined : undefined;
      await compileStep(optimizer, () => lossOf(ddp, step), { clipGradNorm: 0.05 })();
      registry.activityObserver = undefined;
    },
  },
  // Rank 0 reads the model between the gradients and the step, while the others are ready for the step.
  read: {
    step: async (ddp, optimizer, step) => {
      optimizer.zeroGrad();
      await lossOf(ddp, step).backward();
      const [images] = batch(step);
      const outputs = getRank() === 0 ? await noGrad(() => ddp.module.forward(images).array()) : [];
      await optimizer.step();
      read.push(...outputs);
    },
  },
};

const read: (number | bigint)[] = [];

function wrapped({ options, prepare, optimizer }: Variant, shareParameters: boolean) {
  manualSeed(getRank());
  const ddp = new DistributedDataParallel(new Net(), { ...options, shareParameters });
  prepare?.(ddp);
  const make = optimizer ?? ((model: Net) => new optim.Adam(model.parameters(), { lr: 0.01 }));
  return { ddp, optimizer: make(ddp.module) };
}

function sha256(value: unknown): string {
  return createHash('sha256').update(serialize(value)).digest('hex');
}

async function train(variant: Variant, shareParameters: boolean) {
  const { ddp, optimizer } = wrapped(variant, shareParameters);
  read.length = 0;
  const gradients: unknown[] = [];
  for (let step = 0; step < 6; step += 1) {
    await (variant.step ?? plainStep)(ddp, optimizer, step);
    const now = Array.from(ddp.parameters(), ({ grad }) => grad?.slice());
    if (!variant.isCompiled) gradients.push(now);
    else if (shareParameters && now.some((grad) => grad !== undefined)) throw new Error('expected no grad');
  }
  ddp.syncBuffers();
  const { module } = ddp;
  const result = {
    parameters: parametersDigest(module),
    state: sha256([module.stateDict(), optimizer.stateDict()]),
    gradients: sha256(gradients),
    read: sha256(read),
  };
  optimizer.release();
  return result;
}

class Large extends nn.Module {
  layers = new nn.ModuleList([new nn.Linear(largeSize, largeSize), new nn.Linear(largeSize, largeSize)]);

  forward(input: Tensor): Tensor {
    return [...this.layers].reduce((value, layer) => layer.forward(value), input);
  }
}

const largeSize = 2000;

/** Of this process, with its share of memory that it shares, without files, which other processes map too: MB. */
function proportionalMemory(): number {
  const lines = readFileSync('/proc/self/smaps_rollup', 'utf8').matchAll(/^Pss_(?:Anon|Shmem): *(\d+)/gm);
  return [...lines].reduce((sum, [, kilobytes]) => sum + Number(kilobytes), 0) / 1000;
}

async function collectGarbage(): Promise<void> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  for (let collection = 0; collection < 3; collection += 1) {
    collect();
    // Finalizers run in the next turn of the event loop and release more.
    await setImmediate();
  }
}

async function checkpointed(dir: string, shareParameters: boolean, steps: readonly [number, number]) {
  const { ddp, optimizer } = wrapped({}, shareParameters);
  const checkpointer = new Checkpointer({ dir });
  checkpointer.register({ model: ddp, optimizer });
  await checkpointer.resume('auto');
  for (let step = steps[0]; step < steps[1]; step += 1) await plainStep(ddp, optimizer, step);
  const state = sha256([ddp.module.stateDict(), optimizer.stateDict()]);
  await checkpointer.save({ step: steps[1] });
  await checkpointer.finished();
  optimizer.release();
  return state;
}

/** The tensors of the newest checkpoint. */
function tensorsIn(dir: string): string {
  const newest = readdirSync(dir)
    .filter((name) => /\d/.test(name))
    .sort()
    .at(-1)!;
  const files = readdirSync(join(dir, newest)).filter((name) => name.endsWith('.safetensors'));
  return sha256(files.sort().map((name) => [name, readFileSync(join(dir, newest, name))]));
}

/** Every n-th variant; all without EVERY. */
function someVariants(): [name: string, variant: Variant][] {
  const every = Number(process.env['EVERY'] ?? 1);
  return Object.entries(variants).filter((_, position) => position % every === 0);
}

await runScenario({
  bits: async () => {
    const results: Record<string, unknown> = {};
    for (const [name, variant] of someVariants()) {
      results[name] = { shared: await train(variant, true), plain: await train(variant, false) };
    }
    return results;
  },

  /** With the values of graphs in memory of the executor. */
  separateMemory: async () => {
    const executor = new URL('executor/onnxruntime.js', import.meta.resolve('@ringrun/nn')).href;
    const { onnxruntimeExecutor } = (await import(executor)) as { onnxruntimeExecutor: Executor };
    const results: Record<string, unknown> = {};
    for (const [name, variant] of someVariants()) {
      const host = await train(variant, false);
      programCache.clear();
      const { copies, notFreed, restore } = separateMemory(onnxruntimeExecutor);
      const separate = await train(variant, false);
      const shared = await train(variant, true);
      results[name] = { host, separate, shared, copies, notFreed: notFreed() };
      programCache.clear();
      restore();
    }
    return results;
  },

  memory: async () => {
    const shareParameters = process.env['SHARE'] === '1';
    const ddp = new DistributedDataParallel(new Large(), { shareParameters });
    const optimizer = new optim.Adam(ddp.parameters());
    const input = tensor(new Float32Array(largeSize).fill(0.01), [1, largeSize]);
    for (let step = 0; step < 3; step += 1) {
      optimizer.zeroGrad();
      await ddp.forward(input).mean().backward();
      await optimizer.step();
    }
    await collectGarbage();
    return proportionalMemory();
  },

  checkpoints: async () => {
    const dir = process.argv[3];
    const uninterrupted = await checkpointed(join(dir, 'whole'), false, [0, 6]);
    const results: unknown[] = [];
    for (const [name, first, second] of [
      ['shared-plain', true, false],
      ['plain-shared', false, true],
      ['shared-shared', true, true],
    ] as const) {
      await checkpointed(join(dir, name), first, [0, 3]);
      const state = await checkpointed(join(dir, name), second, [3, 6]);
      results.push({ name, state, tensors: getRank() === 0 ? tensorsIn(join(dir, name)) : '' });
    }
    return { uninterrupted, tensors: getRank() === 0 ? tensorsIn(join(dir, 'whole')) : '', results };
  },

  // Rank 1 copies the parameters only after rank 0 has loaded others, unless rank 0 waits. Then rank 0 fails.
  failedResume: async () => {
    const dir = process.argv[3];
    const { ddp, optimizer } = wrapped({}, true);
    const rank = getRank();
    let digest = '';
    const isChanged = () => parametersDigest(ddp.module) !== digest;
    const hasCopied = join(dir, 'copied');
    const late = {
      stateDict: async () => {
        const limit = performance.now() + 500;
        while (digest && rank === 1 && performance.now() < limit && !isChanged()) await setImmediate();
        return {};
      },
      loadStateDict: () => undefined,
    };
    const signal = {
      stateDict: () => {
        if (digest && rank === 1) writeFileSync(hasCopied, '');
        return {};
      },
      loadStateDict: async () => {
        if (rank === 1) return;
        while (!existsSync(hasCopied)) await setImmediate();
        throw new Error('cannot load');
      },
    };
    const checkpointer = new Checkpointer({ dir: join(dir, 'checkpoints') });
    checkpointer.register({ late, model: ddp, optimizer, signal });
    await checkpointer.save({ step: 0 });
    await checkpointer.finished();
    await plainStep(ddp, optimizer, 0);
    digest = parametersDigest(ddp.module);
    const error = await errorOf(() => checkpointer.resume('auto'));
    return { message: error?.message, isUnchanged: !isChanged() };
  },

  // The parameters and states of a destroyed group are this process's own, and another group may train them.
  destroyed: async () => {
    const rank = getRank();
    const plain = wrapped({}, false);
    for (let step = 0; step < 4; step += 1) await plainStep(plain.ddp, plain.optimizer, step);
    const expected = parametersDigest(plain.ddp.module);
    const { ddp, optimizer } = wrapped({}, true);
    for (let step = 0; step < 2; step += 1) await plainStep(ddp, optimizer, step);
    const { module } = ddp;
    const before = parametersDigest(module);
    const [first] = ddp.parameters();
    const shared = first.data;
    await destroyProcessGroup();
    const isEqual = parametersDigest(module) === before && first.data !== shared;
    first.data[0] += rank;
    const isOwn = first.data[0] === Math.fround(shared[0] + rank);
    first.data[0] = shared[0];
    await initProcessGroup();
    const next = new DistributedDataParallel(module);
    for (let step = 2; step < 4; step += 1) await plainStep(next, optimizer, step);
    return { isEqual, isOwn, isContinued: parametersDigest(module) === expected };
  },

  // What a step asks of the group when all calls come from JavaScript.
  calls: async () => {
    const group = (await newGroup([0, 1]))!;
    const { ddp, optimizer } = wrapped({ options: { processGroup: group } }, true);
    const compiled = compileStep(optimizer, (step: number) => lossOf(ddp, step), { clipGradNorm: 0.05 });
    await plainStep(ddp, optimizer, 0);
    registry.activityObserver = () => undefined;
    const counts: Record<string, number> = {};
    for (const name of ['allReduce', 'allGather', 'barrier'] as const) {
      const call = group[name].bind(group) as (...operands: unknown[]) => Promise<void>;
      group[name] = (...operands: unknown[]) => {
        counts[name] = (counts[name] ?? 0) + 1;
        return call(...operands);
      };
    }
    const countsOf = async (step: Promise<unknown>) => {
      await step;
      return { ...counts };
    };
    const ofCompiled = await countsOf(compiled(1));
    for (const name in counts) counts[name] = 0;
    const ofPlain = await countsOf(plainStep(ddp, optimizer, 2));
    registry.activityObserver = undefined;
    return { ofCompiled, ofPlain };
  },

  // The last rank is killed behind its update, before the barrier that ends the step.
  death: async () => {
    const group = (await newGroup([0, 1, 2]))!;
    const { ddp, optimizer } = wrapped({ options: { processGroup: group } }, true);
    await plainStep(ddp, optimizer, 0);
    const barrier = group.barrier.bind(group);
    let barriers = 0;
    // The other ranks make their calls from inside their graphs.
    if (getRank() === getWorldSize() - 1) registry.activityObserver = () => undefined;
    group.barrier = (options) => {
      barriers += 1;
      if (barriers === 2 && getRank() === getWorldSize() - 1) process.kill(process.pid, 'SIGKILL');
      return barrier(options);
    };
    const error = await errorOf(() => plainStep(ddp, optimizer, 1));
    await errorOf(() => destroyProcessGroup());
    ddp.module.output.bias!.data.fill(1);
    const [bias] = [...ddp.module.output.bias!.data];
    return { name: error?.name, message: error?.message, bias };
  },

  refusals: async () => {
    const wrap = (options: DistributedDataParallelOptions) =>
      errorOf(() => new DistributedDataParallel(new Net(), options));
    const describe = async (error: ReturnType<typeof errorOf>) => {
      const { name, code, message } = (await error) ?? {};
      return { name, code, message };
    };
    if (process.env['RINGRUN_TRANSPORT'] === 'tcp') return [await describe(wrap({ shareParameters: true }))];
    const ddp = new DistributedDataParallel(new Net(), { shareParameters: true });
    return [
      await describe(wrap({ shareParameters: 'yes' as unknown as boolean })),
      await describe(wrap({ shareParameters: true, faultTolerance: 'shrink' })),
      await describe(errorOf(() => ddp.join(() => Promise.resolve()))),
      await describe(wrap({ shareParameters: getRank() === 0 })),
    ];
  },
});
