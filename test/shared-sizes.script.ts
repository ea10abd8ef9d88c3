// One rank of a test of shareParameters for models of many sizes: see fixtures/run-scenario.ts.
import { compileStep, manualSeed, nn, optim, tensor, type Tensor } from '@ringrun/nn';
import { DistributedDataParallel, getRank, parametersDigest } from 'ringrun';
import { runScenario } from './fixtures/run-scenario.ts';

/** Layers of these sizes, one after the other. */
class Chain extends nn.Module {
  readonly layers: nn.ModuleList<nn.Linear>;

  constructor(sizes: readonly number[], bias: boolean) {
    super();
    this.layers = new nn.ModuleList(sizes.slice(1).map((size, i) => new nn.Linear(sizes[i], size, { bias })));
  }

  forward(x: Tensor): Tensor {
    return [...this.layers].reduce((value, layer) => layer.forward(value).tanh(), x);
  }
}

type ClippingOptions = NonNullable<Parameters<optim.Optimizer['step']>[0]>;

interface Size {
  readonly sizes: readonly number[];
  readonly bias?: boolean;
  /** Positions of parameters that are frozen. */
  readonly frozen?: readonly number[];
}

/** A rank owns ranges of 32,768 elements, so most ranks own nothing of some of these models. */
const models: Readonly<Record<string, Size>> = {
  'one number': { sizes: [1, 1], bias: false },
  'two numbers': { sizes: [1, 1] },
  'less than a cache line': { sizes: [3, 5] },
  'one parameter of two parts': { sizes: [300, 200], bias: false },
  'two parts and a bias': { sizes: [300, 200] },
  'a part exactly': { sizes: [256, 128], bias: false },
  'many small ones': { sizes: [3, 2, 5, 7, 1, 4] },
  'a large one after small ones': { sizes: [2, 3, 300, 250] },
  'a large one before small ones': { sizes: [400, 300, 2, 3] },
  'the large one frozen': { sizes: [2, 3, 300, 250], frozen: [4] },
  'all but one frozen': { sizes: [300, 200, 3], frozen: [0, 2, 3] },
};

const clippings: Readonly<Record<string, ClippingOptions>> = {
  none: {},
  norm: { clipGradNorm: 0.01 },
  'norm with an error': { clipGradNorm: { maxNorm: 0.01, errorIfNonfinite: true } },
  'largest element': { clipGradNorm: { maxNorm: 0.001, normType: Infinity } },
  'norm of 1': { clipGradNorm: { maxNorm: 0.01, normType: 1 } },
  value: { clipGradValue: 1e-4 },
};

function batch({ sizes }: Size, step: number): Tensor {
  const numbers = Float32Array.from({ length: 4 * sizes[0] }, (_, i) =>
    Math.sin((i + 1) * (step + 1) + getRank()),
  );
  return tensor(numbers, [4, sizes[0]]);
}

type Train = (
  ddp: DistributedDataParallel<Chain>,
  optimizer: optim.Optimizer,
  clipping: ClippingOptions,
  batches: readonly Tensor[],
) => Promise<unknown>;

const lossOf = (ddp: DistributedDataParallel<Chain>) => (x: Tensor) => ddp.forward(x).square().mean();

const ways: Readonly<Record<string, Train>> = {
  'backward and step': async (ddp, optimizer, clipping, batches) => {
    for (const x of batches) {
      optimizer.zeroGrad();
      await lossOf(ddp)(x).backward();
      await optimizer.step(clipping);
    }
  },
  compileStep: async (ddp, optimizer, clipping, batches) => {
    const step = compileStep(optimizer, lossOf(ddp), clipping);
    for (const x of batches) await step(x);
  },
  traceOnce: async (ddp, optimizer, clipping, batches) => {
    const step = compileStep(optimizer, lossOf(ddp), { ...clipping, traceOnce: true });
    for (const x of batches) await step(x);
  },
  'step.each': (ddp, optimizer, clipping, batches) =>
    compileStep(optimizer, lossOf(ddp), { ...clipping, traceOnce: true }).each(
      batches.map((x) => [x] as const),
    ),
  'not awaited': async (ddp, optimizer, clipping, batches) => {
    const step = compileStep(optimizer, lossOf(ddp), clipping);
    await Promise.all(batches.map((x) => step(x)));
  },
};

async function trained(size: Size, clipping: ClippingOptions, way: Train, shareParameters: boolean) {
  manualSeed(1);
  const model = new Chain(size.sizes, size.bias ?? true);
  for (const position of size.frozen ?? []) [...model.parameters()][position].requiresGrad = false;
  const ddp = new DistributedDataParallel(model, { shareParameters });
  const optimizer = new optim.Adam(model.parameters(), { lr: 0.01 });
  const batches = [0, 1, 2, 3].map((step) => batch(size, step));
  await way(ddp, optimizer, clipping, batches);
  const result = { digest: parametersDigest(model), norm: optimizer.gradNorm };
  optimizer.release();
  return result;
}

await runScenario({
  /** Every n-th combination, from the one of SEED on. */
  sizes: async () => {
    const [every, seed] = [Number(process.env['EVERY'] ?? 1), Number(process.env['SEED'] ?? 0)];
    const results: Record<string, unknown> = {};
    let position = 0;
    for (const [model, size] of Object.entries(models)) {
      for (const [clipping, options] of Object.entries(clippings)) {
        for (const [way, train] of Object.entries(ways)) {
          position += 1;
          if (position % every !== seed % every) continue;
          results[`${model}, ${clipping}, ${way}`] = {
            shared: await trained(size, options, train, true),
            plain: await trained(size, options, train, false),
          };
        }
      }
    }
    return results;
  },
});
