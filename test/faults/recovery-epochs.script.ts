// One rank of a training in epochs that survives the death of another rank: gradients accumulate over two batches, a
// checkpoint is saved and loaded after the death, and a new process joins within an epoch. Writes the samples of each step
// of this RANK, and its parameters, to the folder OUT.
import { appendFileSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import {
  Checkpointer,
  DataLoader,
  DistributedDataParallel,
  DistributedSampler,
  destroyProcessGroup,
  getWorldSize,
  initProcessGroup,
} from 'ringrun';
import { lossOfSamples, newNet, newOptimizer } from '../fixtures/recoverable-training.ts';
import { batchSize, dieAtStep, epochs, joinAfterStep, samples, saveAtStep } from './fixtures/epochs.ts';
import { hookNamed, type HookName } from './fixtures/recovery-hooks.ts';
import { writeResult } from './fixtures/recovery-result.ts';

const { OUT: out, RANK: rank } = process.env;
const own = Number(rank);
const joining = join(out!, 'joining');

await initProcessGroup({ timeoutMs: 60_000 });
const ddp = new DistributedDataParallel(newNet(), { faultTolerance: 'shrink', bucketCapMb: 1e-3 });
const { HOOK: hookName } = process.env;
if (hookName !== undefined) ddp.registerCommHook(hookNamed(hookName as HookName));
const optimizer = newOptimizer(ddp.parameters());
const sampler = new DistributedSampler(samples);
let ranksByStep: (readonly number[])[] = [];
const log = {
  stateDict: () => ({ ranksByStep }),
  loadStateDict: (state: { ranksByStep: number[][] }) => {
    ranksByStep = state.ranksByStep;
  },
};
// Only a joining process is alone here.
if (getWorldSize() === 1) writeFileSync(joining, '');
const hasJoined = await ddp.shareState({ optimizer, sampler, log });
console.log(`rank ${own} ${hasJoined ? `joins after step ${ranksByStep.length}` : 'starts'}`);

const checkpoints = new Checkpointer({ dir: join(out!, 'checkpoints') });
checkpoints.register({ model: ddp.module, optimizer });

/** The survivors save a checkpoint, lose their parameters, and load it. */
async function saveAndLoad(step: number): Promise<void> {
  await ddp.retry(() => checkpoints.save({ step }));
  await checkpoints.finished();
  for (const { data } of ddp.parameters()) data.fill(0);
  const resumed = await checkpoints.resume('auto');
  if (resumed?.step !== step) throw new Error(`resumed at step ${resumed?.step}`);
}

const dataset = { length: samples, at: (index: number) => index };
for (let { epoch } = sampler.stateDict(); epoch < epochs; epoch += 1) {
  for await (const batch of new DataLoader(dataset, { sampler, batchSize })) {
    const indices = Array.from(batch.data, Number);
    const step = ranksByStep.length + 1;
    optimizer.zeroGrad();
    const half = batchSize / 2;
    await ddp.noSync(() => lossOfSamples(ddp, indices.slice(0, half)).backward());
    if (own === 1 && step === dieAtStep && !hasJoined) process.kill(process.pid, 'SIGKILL');
    await lossOfSamples(ddp, indices.slice(half)).backward();
    await optimizer.step();
    ranksByStep.push([...ddp.stepRanks]);
    appendFileSync(join(out!, `samples-${own}.jsonl`), `${JSON.stringify({ step, indices })}\n`);
    if (step === saveAtStep) await saveAndLoad(step);
    // Rank 0 checks for new processes once a second.
    if (step >= joinAfterStep && ddp.stepRanks.length < 3) {
      while (!existsSync(joining)) await setTimeout(20);
      await setTimeout(1000);
    }
  }
}

writeResult(out!, own, { ddp, ranksByStep });
await destroyProcessGroup();
