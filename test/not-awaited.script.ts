// One rank of a test of steps that are not awaited: see fixtures/run-scenario.ts.
import { compileStep, manualSeed, nn, optim, tensor, type Tensor } from '@ringrun/nn';
import { DistributedDataParallel, getRank } from 'ringrun';
import { runScenario } from './fixtures/run-scenario.ts';

/** Running statistics of both kinds: a moving average, and the mean over all batches. */
class Net extends nn.Module {
  first = new nn.Linear(4, 6);
  norm = new nn.BatchNorm1d(6);
  second = new nn.Linear(6, 3);
  mean = new nn.BatchNorm1d(3, { momentum: null });

  forward(x: Tensor): Tensor {
    return this.mean.forward(this.second.forward(this.norm.forward(this.first.forward(x)).tanh()));
  }
}

type Ddp = DistributedDataParallel<Net>;

/** Batches of sizes that differ between steps and ranks. */
function batch(step: number, size = 5): Tensor {
  const numbers = Float32Array.from({ length: 4 * size }, (_, i) =>
    Math.sin((i + 1) * (3 * step + getRank() + 1)),
  );
  return tensor(numbers, [size, 4]);
}

const lossOf = (ddp: Ddp) => (x: Tensor) => ddp.forward(x).pow(4).mean();

type Awaits = (pending: Promise<unknown>) => Promise<unknown> | undefined;

/** Runs the steps; `awaits` returns its promise, or undefined to continue at once. */
type Way = (
  ddp: Ddp,
  optimizer: optim.Optimizer,
  batches: readonly Tensor[],
  awaits: Awaits,
) => Promise<void>;

const compiled =
  (options = {}): Way =>
  async (ddp, optimizer, batches, awaits) => {
    const step = compileStep(optimizer, lossOf(ddp), options);
    for (const x of batches) await awaits(step(x));
  };

const ways: Readonly<Record<string, Way>> = {
  'backward and step': async (ddp, optimizer, batches, awaits) => {
    for (const x of batches) {
      optimizer.zeroGrad();
      await awaits(lossOf(ddp)(x).backward());
      await awaits(optimizer.step());
    }
  },
  compileStep: compiled(),
  traceOnce: compiled({ traceOnce: true }),
  clipped: compiled({ clipGradNorm: { maxNorm: 0.01, errorIfNonfinite: true } }),
  'step.each': async (ddp, optimizer, batches, awaits) => {
    const step = compileStep(optimizer, lossOf(ddp), { traceOnce: true });
    const middle = Math.floor(batches.length / 2);
    for (const part of [batches.slice(0, middle), batches.slice(middle)]) {
      await awaits(step.each(part.map((x) => [x] as const)));
    }
  },
  mixed: async (ddp, optimizer, batches, awaits) => {
    const step = compileStep(optimizer, lossOf(ddp));
    for (const [i, x] of batches.entries()) {
      if (i % 2 === 0) await awaits(step(x));
      else {
        optimizer.zeroGrad();
        await awaits(lossOf(ddp)(x).backward());
        await awaits(optimizer.step());
      }
      ddp.syncBuffers();
    }
  },
};

/** Ranks share memory of the host only. */
const sharesParameters = process.env['RINGRUN_DEVICE'] !== 'cuda';

const awaited: Awaits = (pending) => pending;

/** The steps continue at once; `ended` resolves when all have ended. */
function notAwaited() {
  const all: Promise<unknown>[] = [];
  const awaits: Awaits = (pending) => {
    all.push(pending);
    return undefined;
  };
  return { awaits, ended: () => Promise.all(all) };
}

/** @param waits `awaits`, and the promises to await after the steps */
async function trained(
  way: Way,
  { awaits, ended }: { awaits: Awaits; ended: () => Promise<unknown> },
  { joins = false, counts = false, shareParameters = false } = {},
): Promise<Record<string, number[]>> {
  manualSeed(1);
  const ddp = new DistributedDataParallel(new Net(), { shareParameters });
  const optimizer = new optim.SGD(ddp.parameters(), { lr: 0.5, momentum: 0.9 });
  const count = joins ? 4 + getRank() : 6;
  const batches = Array.from({ length: count }, (_, step) =>
    batch(step, joins ? 3 + ((step + getRank()) % 3) : 5),
  );
  if (joins) {
    await ddp.join(
      async () => {
        if (!counts) return way(ddp, optimizer, batches, awaits);
        const step = compileStep(optimizer, lossOf(ddp));
        for (const [i, x] of batches.entries()) {
          ddp.setBatchSize(1 + i);
          await awaits(step(x));
        }
      },
      { follow: () => optimizer.step() },
    );
  } else {
    await way(ddp, optimizer, batches, awaits);
  }
  await ended();
  const state = Object.fromEntries(
    Array.from(ddp.module.stateDict(), ([key, { data }]) => [key, Array.from(data, Number)]),
  );
  optimizer.release();
  return state;
}

const atOnce = { awaits: awaited, ended: () => Promise.resolve() };

await runScenario({
  /** With steps that every rank awaits, that none awaits, and that rank 0 alone awaits. */
  ways: async () => {
    const results: Record<string, unknown> = {};
    for (const shareParameters of sharesParameters ? [false, true] : [false]) {
      for (const [name, way] of Object.entries(ways)) {
        results[`${name}, ${shareParameters ? 'shared' : 'own'} parameters`] = {
          expected: await trained(way, atOnce, { shareParameters }),
          none: await trained(way, notAwaited(), { shareParameters }),
          some: await trained(way, getRank() === 0 ? atOnce : notAwaited(), { shareParameters }),
        };
      }
    }
    return results;
  },

  join: async () => {
    const results: Record<string, unknown> = {};
    for (const name of ['backward and step', 'compileStep', 'counts']) {
      const options = { joins: true, counts: name === 'counts' };
      const way = ways[name] ?? ways['compileStep'];
      results[name] = {
        expected: await trained(way, atOnce, options),
        none: await trained(way, notAwaited(), options),
      };
    }
    return results;
  },
});
