// One rank of a fit with `faultTolerance: 'shrink'`: `trainer.script.ts <steps>`. Writes its results to the folder OUT.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { F, optim } from '@ringrun/nn';
import { EarlyStopping, Trainer, type Callback } from '@ringrun/train';
import { DataLoader, DistributedSampler, destroyProcessGroup, initProcessGroup } from 'ringrun';
import { newNet } from '../fixtures/recoverable-training.ts';

const steps = Number(process.argv[2]);
const { RANK: rank, OUT: out, PAUSE_MS: pauseMs = '0', VALIDATION_MS: validationMs = '0' } = process.env;
const own = Number(rank);

/** Points whose values follow from their indices. */
const pointsOf = (length: number) => ({
  length,
  at: (i: number) => {
    const x = Float32Array.from({ length: 8 }, (_, j) => Math.sin(i * 3.1 + j * 1.7));
    return { x, y: Float32Array.from({ length: 4 }, (_, j) => x[j * 2] ** 2) };
  },
});

await initProcessGroup({ timeoutMs: 60_000 });
const model = newNet();
const optimizer = new optim.SGD(model.parameters(), { lr: 0.05, momentum: 0.9 });
// 10 batches of each rank in an epoch.
const trainSet = pointsOf(10 * 16 * Number(process.env['WORLD_SIZE']));
const trainLoader = new DataLoader(trainSet, { batchSize: 16, sampler: new DistributedSampler(trainSet) });
const trained: number[] = [];
const losses: unknown[] = [];
const follow: Callback = {
  onFitStart: ({ globalStep }) => {
    console.log(`rank ${own} ${globalStep > 0 ? `joins after step ${globalStep}` : 'starts'}`);
  },
  onTrainBatchEnd: async ({ globalStep }) => {
    trained.push(globalStep);
    console.log(`rank ${own} has done step ${globalStep}.`);
    await setTimeout(Number(pauseMs));
  },
  onValidationStart: async ({ globalStep }) => {
    console.log(`rank ${own} validates after step ${globalStep}.`);
    await setTimeout(Number(validationMs));
  },
  onValidationEnd: (_, metrics) => void losses.push(metrics['val/loss']),
};
const early = new EarlyStopping({ monitor: 'val/loss', patience: 50 });
const scheduler = new optim.lrScheduler.StepLR(optimizer, 2, { gamma: 0.8 });
const changes: number[] = [];
const result = await new Trainer({
  maxEpochs: steps / 10,
  faultTolerance: 'shrink',
  onMembershipChange: ({ worldSize }) => void changes.push(worldSize),
  callbacks: [follow, early],
  checkpoint: { dir: join(out!, 'checkpoints') },
  enableProgressBar: false,
}).fit(model, {
  trainLoader,
  validationLoader: new DataLoader(pointsOf(64), { batchSize: 16 }),
  loss: F.mseLoss,
  optimizer,
  scheduler,
});
const parameters = [...model.parameters()].map(({ data }) =>
  Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64'),
);
const { lr } = optimizer.paramGroups[0];
writeFileSync(
  join(out!, `rank-${own}.json`),
  JSON.stringify({ result, parameters, trained, losses, lr, changes, early: early.stateDict() }),
);
await destroyProcessGroup();
