// One rank of a test of the memory of models that the program has dropped: see fixtures/run-scenario.ts.
import { readFileSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { compileStep, F, manualSeed, nn, optim, tensor, type Tensor } from '@ringrun/nn';
import { DistributedDataParallel, getRank } from 'ringrun';
import { runScenario } from './fixtures/run-scenario.ts';

/** Memory of this process in MiB, with mapped shared memory, without files. */
function mebibytes(): number {
  const lines = readFileSync('/proc/self/smaps_rollup', 'utf8').matchAll(/^Pss_(?:Anon|Shmem): *(\d+)/gm);
  return [...lines].reduce((sum, [, kibibytes]) => sum + Number(kibibytes), 0) / 1024;
}

/** Growth of memory over `rounds` rounds of `make`, after as many uncounted rounds. */
async function growthOf(rounds: number, make: (round: number) => unknown): Promise<number> {
  let before = 0;
  for (let round = 0; round < 2 * rounds; round += 1) {
    if (round === rounds) before = mebibytes();
    await make(round);
    // Node frees the memory of collected arrays in the next turn of the event loop.
    await setImmediate();
  }
  return mebibytes() - before;
}

/** 4 MiB of parameters. */
const made = () => new nn.Linear(1024, 1024);

const batch = (seed: number): Tensor =>
  tensor(
    Float32Array.from({ length: 4 * 1024 }, (_, i) => Math.sin(i + seed + getRank())),
    [4, 1024],
  );

/** A training of a few steps, with another learning rate, as in a search for the best one. */
async function trained(round: number, { shareParameters = false, bucketCapMb = 25 } = {}): Promise<void> {
  manualSeed(round);
  const ddp = new DistributedDataParallel(made(), { shareParameters, bucketCapMb });
  const optimizer = new optim.Adam(ddp.parameters(), { lr: 1e-4 * (1 + round) });
  const lossOf = (x: Tensor) => F.mseLoss(ddp.forward(x), tensor(new Float32Array(4 * 1024), [4, 1024]));
  const step = compileStep(optimizer, lossOf, { clipGradNorm: 1, traceOnce: round % 2 === 0 });
  await step(batch(round));
  await step(batch(round + 1));
  optimizer.zeroGrad();
  await lossOf(batch(round)).backward();
  await optimizer.step();
}

/** Measures the growth in the second half of the rounds. */
const half = Number(process.env['ROUNDS']) / 2;

await runScenario({
  wrapped: () => growthOf(half, () => new DistributedDataParallel(made())),
  sharedWrapped: () => growthOf(half, () => new DistributedDataParallel(made(), { shareParameters: true })),
  trained: () => growthOf(half, (round) => trained(round)),
  sharedTrained: () => growthOf(half, (round) => trained(round, { shareParameters: true })),
  manyBuckets: () => growthOf(half, (round) => trained(round, { bucketCapMb: 0.001 })),
});
