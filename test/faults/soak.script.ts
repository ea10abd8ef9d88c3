// One rank of a training without end: `soak.script.ts <folder> <shrink | restart>`. `shrink`: the others continue when a rank
// dies. `restart`: all ranks continue from their newest checkpoint. Writes a mark to the pipe <folder>/marks twice a second, and
// at the first step of each group.
import { openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { Checkpointer, DistributedDataParallel, connectStore, getWorldSize, initProcessGroup } from 'ringrun';
import { lossOf, newNet, newOptimizer } from '../fixtures/recoverable-training.ts';
import type { Mark } from './fixtures/mark.ts';

const [folder, way] = process.argv.slice(2);
const { RANK, RINGRUN_RESTART_COUNT, RINGRUN_STORE } = process.env;
const rank = Number(RANK);
const isShrinking = way === 'shrink';
const stepMs = 20;
const markEveryMs = 500;
const checkpointEvery = 25;

const pipe = openSync(join(folder, 'marks'), 'w');
const { hostname, port } = new URL(RINGRUN_STORE!);
const store = await connectStore({ host: hostname, port: Number(port) });
let markedAt = -Infinity;
let ranks = 0;

async function mark(step: number, ranksOfStep: number): Promise<void> {
  if (ranksOfStep === ranks && performance.now() - markedAt < markEveryMs) return;
  ranks = ranksOfStep;
  markedAt = performance.now();
  const incarnation = Number(RINGRUN_RESTART_COUNT);
  const keys = await store.numKeys();
  const made: Mark = { rank, pid: process.pid, incarnation, phase: 'step', step, ranks, keys };
  writeSync(pipe, `${JSON.stringify(made)}\n`);
}

await initProcessGroup({ timeoutMs: 60_000 });
const ddp = new DistributedDataParallel(newNet(), isShrinking ? { faultTolerance: 'shrink' } : {});
const optimizer = newOptimizer(ddp.parameters());
const checkpoints = new Checkpointer({ dir: join(folder, 'checkpoints'), keep: 2 });
checkpoints.register({ ddp, optimizer });
let step = 0;
if (isShrinking) await ddp.shareState({ optimizer });
else step = (await checkpoints.resume('auto'))?.step ?? 0;

for (;;) {
  optimizer.zeroGrad();
  await lossOf(ddp, rank, step + 1).backward();
  await optimizer.step();
  step += 1;
  await mark(step, isShrinking ? ddp.stepRanks.length : getWorldSize());
  if (!isShrinking && step % checkpointEvery === 0) await checkpoints.save({ step });
  await setTimeout(stepMs);
}
