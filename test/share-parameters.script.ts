// One rank of a test of shareParameters: see fixtures/run-scenario.ts.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { registry } from '@ringrun/core';
import { compileStep, nn, optim, programCache, tensor, type Tensor } from '@ringrun/nn';
import {
  Checkpointer,
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
import { lossOf, Net, plainStep } from './fixtures/share-parameters/net.ts';
import { sha256, train, wrapped } from './fixtures/share-parameters/train.ts';
import { variants, type Variant } from './fixtures/share-parameters/variants.ts';

// Simulates a separate host for the last rank.
if (process.env['TWO_HOSTS'] === '1') {
  const isLast = Number(process.env['RANK']) === Number(process.env['WORLD_SIZE']) - 1;
  process.env['RINGRUN_HOST_ID'] = isLast ? 'second' : 'first';
}

class Large extends nn.Module {
  layers = new nn.ModuleList([new nn.Linear(largeSize, largeSize), new nn.Linear(largeSize, largeSize)]);

  forward(input: Tensor): Tensor {
    return [...this.layers].reduce((value, layer) => layer.forward(value), input);
  }
}

const largeSize = 2000;

/** Memory of this process in MB: with its share of shared memory, without files, which other processes map too. */
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
    const executor = new URL('executor.cpu.onnxruntime.js', import.meta.resolve('@ringrun/nn')).href;
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

  // Calls of the group in a step whose calls all come from JavaScript.
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

  // The last rank is killed after its update, before the barrier that ends the step.
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
