// One rank of a test of compileStep: see fixtures/run-scenario.ts.
import { compileStep, F, manualSeed, nn, optim, programCache, tensor, type Tensor } from '@ringrun/nn';
import {
  commHooks,
  DistributedDataParallel,
  getRank,
  parametersDigest,
  type DistributedDataParallelOptions,
} from 'ringrun';
import { errorOf } from './fixtures/error-of.ts';
import { runScenario } from './fixtures/run-scenario.ts';

/** Smaller than any parameter, so each gradient has its own bucket. */
const tinyBucketMb = 1e-6;
const steps = 4;

/** Ranks share memory of the host only. */
const sharesParameters = process.env['RINGRUN_DEVICE'] !== 'cuda';

class Cnn extends nn.Module {
  conv = new nn.Conv2d(1, 4, 3);
  norm: nn.Module & { forward(input: Tensor): Tensor } = new nn.BatchNorm2d(4);
  hidden = new nn.Linear(4 * 3 * 3, 5);
  extra = new nn.Linear(5, 5);
  output = new nn.Linear(5, 3);

  /** [N, 1, 8, 8] to the logarithms of 3 probabilities. */
  forward(images: Tensor, usesExtra = true): Tensor {
    const features = F.flatten(F.maxPool2d(F.relu(this.norm.forward(this.conv.forward(images))), 2));
    const hidden = F.relu(this.hidden.forward(features));
    return F.logSoftmax(this.output.forward(usesExtra ? hidden.add(this.extra.forward(hidden)) : hidden), 1);
  }
}

interface Variant {
  /** Default: batch normalization. */
  norm?: () => Cnn['norm'];
  options?: DistributedDataParallelOptions;
  prepare?: (ddp: DistributedDataParallel<Cnn>) => void;
  isSynchronized?: boolean;
  clipping?: optim.ClippingOptions;
  usesExtra?: boolean;
}

const variants: Readonly<Record<string, Variant>> = {
  plain: {},
  oneBucketPerGradient: { options: { bucketCapMb: tinyBucketMb } },
  overlapped: { options: { bucketCapMb: tinyBucketMb, overlap: true } },
  synchronized: { options: { bucketCapMb: tinyBucketMb, overlap: true }, isSynchronized: true },
  verified: { options: { verifyEvery: 2 } },
  hook: {
    prepare: (ddp) => {
      ddp.registerCommHook(commHooks.bf16Compress);
    },
  },
  unused: { usesExtra: getRankOfEnvironment() === 0 },
  clipped: { options: { bucketCapMb: tinyBucketMb }, clipping: { clipGradNorm: 0.05 } },
  clamped: { clipping: { clipGradValue: 0.01 } },
  ...(sharesParameters && {
    clippedAndShared: { options: { shareParameters: true }, clipping: { clipGradNorm: 0.05 } },
  }),
};

function getRankOfEnvironment(): number {
  return Number(process.env['RANK']);
}

function wrapped({ norm, options = {}, prepare, isSynchronized }: Variant): DistributedDataParallel<Cnn> {
  manualSeed(5);
  const model = new Cnn();
  if (norm) model.norm = norm();
  if (isSynchronized) nn.SyncBatchNorm.convertSyncBatchNorm(model);
  const ddp = new DistributedDataParallel(model, options);
  prepare?.(ddp);
  return ddp;
}

function batch(step: number): [images: Tensor, labels: Tensor] {
  const numbers = Float32Array.from({ length: 6 * 64 }, (_, i) => Math.sin(i * (step + 1) + getRank()));
  return [tensor(numbers, [6, 1, 8, 8]), tensor(BigInt64Array.from([0n, 1n, 2n, 0n, 1n, 2n]))];
}

type Train = (
  lossOf: (images: Tensor, labels: Tensor) => Tensor,
  optimizer: optim.Optimizer,
  clipping?: optim.ClippingOptions,
) => (images: Tensor, labels: Tensor) => Promise<Tensor>;

const separately: Train = (lossOf, optimizer, clipping) => async (images, labels) => {
  const loss = lossOf(images, labels);
  optimizer.zeroGrad();
  await loss.backward();
  const parameters = optimizer.paramGroups.flatMap(({ params }) => params);
  const { clipGradNorm, clipGradValue } = clipping ?? {};
  if (clipGradNorm !== undefined) nn.utils.clipGradNorm(parameters, Number(clipGradNorm));
  if (clipGradValue !== undefined) nn.utils.clipGradValue(parameters, clipGradValue);
  await optimizer.step();
  return loss;
};

const compiled: Train = (lossOf, optimizer, clipping) => compileStep(optimizer, lossOf, clipping);

const tracedOnce: Train = (lossOf, optimizer, clipping) =>
  compileStep(optimizer, lossOf, { traceOnce: true, ...clipping });

/** The first step by itself, all others in one call. */
const together: Train = (lossOf, optimizer, clipping) => {
  const step = compileStep(optimizer, lossOf, { traceOnce: true, ...clipping });
  const later: Tensor[] = [];
  return async (...first) => {
    if (later.length === 0) {
      const [loss] = await step.each([first]);
      later.push(...(await step.each(Array.from({ length: steps - 1 }, (_, i) => batch(i + 1)))));
      return loss;
    }
    return later.shift()!;
  };
};

/** In the update's run. */
const inStep: Train = (lossOf, optimizer, clipping) => async (images, labels) => {
  const loss = lossOf(images, labels);
  optimizer.zeroGrad();
  await loss.backward();
  await optimizer.step(clipping);
  return loss;
};

/** `calls` is the number of calls of the loss function. */
async function train(variant: Variant, makes: Train) {
  const ddp = wrapped(variant);
  const optimizer = new optim.SGD(ddp.module.parameters(), { lr: 0.1, momentum: 0.9 });
  let calls = 0;
  const lossOf = (images: Tensor, labels: Tensor) => {
    calls += 1;
    return F.nllLoss(ddp.forward(images, variant.usesExtra ?? true), labels);
  };
  const step = makes(lossOf, optimizer, variant.clipping);
  const losses: number[] = [];
  programCache.clear();
  for (let i = 0; i < steps; i += 1) losses.push(await (await step(...batch(i))).item());
  const programs = programCache.size;
  ddp.syncBuffers();
  optimizer.release();
  return { digest: parametersDigest(ddp), losses, programs, calls };
}

async function failureOf(run: () => Promise<unknown>) {
  const error = await errorOf(run);
  return { name: error?.name, code: error?.code, message: error?.message };
}

await runScenario({
  variants: async () => {
    const results: Record<string, unknown> = {};
    for (const [name, variant] of Object.entries(variants)) {
      results[name] = {
        compiled: await train(variant, compiled),
        separate: await train(variant, separately),
        ...(variant.clipping && { inStep: await train(variant, inStep) }),
      };
    }
    // A process has at most one model with faultTolerance.
    const clipping = { clipGradNorm: 0.05 };
    const shrinking = await train({ options: { faultTolerance: 'shrink' }, clipping }, compiled);
    return { variants: results, shrinking: shrinking.digest };
  },

  tracedOnce: async () => {
    const norms = { none: { norm: () => new nn.Identity() }, batch: {} };
    const layouts: Record<string, DistributedDataParallelOptions> = {
      oneBucket: {},
      oneBucketPerGradient: { bucketCapMb: tinyBucketMb },
      overlapped: { bucketCapMb: tinyBucketMb, overlap: true },
      ...(sharesParameters && { shared: { shareParameters: true } }),
    };
    const results: Record<string, unknown> = {};
    // With `unused`, only rank 0 can run several steps in one call.
    for (const [name, variant] of Object.entries(variants)) {
      const plain = { norm: () => new nn.Identity(), ...variant };
      if (name === 'synchronized') continue;
      results[`none, ${name}`] = {
        once: await train(plain, tracedOnce),
        together: await train(plain, together),
        always: await train(plain, compiled),
      };
    }
    for (const [name, norm] of Object.entries(norms)) {
      for (const [layout, options] of Object.entries(layouts)) {
        results[`${name}, ${layout}`] = {
          once: await train({ ...norm, options }, tracedOnce),
          together: await train({ ...norm, options }, together),
          always: await train({ ...norm, options }, compiled),
        };
      }
    }
    return results;
  },

  deathInOneOfSeveral: async () => {
    const ddp = wrapped({ norm: () => new nn.Identity() });
    const optimizer = new optim.SGD(ddp.module.parameters(), { lr: 0.1 });
    const lossOf = (images: Tensor, labels: Tensor) => F.nllLoss(ddp.forward(images), labels);
    const step = compileStep(optimizer, lossOf, { traceOnce: true });
    await step(...batch(0));
    if (getRank() === 1) process.exit(0);
    return await failureOf(() => step.each([batch(1), batch(2), batch(3)]));
  },

  death: async () => {
    const ddp = wrapped({});
    const optimizer = new optim.SGD(ddp.module.parameters(), { lr: 0.1 });
    const step = compileStep(optimizer, (images: Tensor, labels: Tensor) =>
      F.nllLoss(ddp.forward(images), labels),
    );
    await step(...batch(0));
    if (getRank() === 1) process.exit(0);
    return await failureOf(() => step(...batch(1)));
  },
});
