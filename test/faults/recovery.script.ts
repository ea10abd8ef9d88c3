// One rank of a training that survives the death of others. Writes its parameters and the ranks of each step to the
// folder OUT. BUFFERS=0: the model has no buffers. COMPILED=1: steps of compileStep. HOOK: the name of a communication hook.
// Arguments: the number of steps.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import {
  DistributedDataParallel,
  destroyProcessGroup,
  getRank,
  getWorldSize,
  initProcessGroup,
} from 'ringrun';
import { compileStep } from '@ringrun/nn';
import { lossOf, newNet, newOptimizer } from '../fixtures/recoverable-training.ts';
import { hookNamed, type HookName } from './fixtures/recovery-hooks.ts';
import { writeResult } from './fixtures/recovery-result.ts';

const steps = Number(process.argv[2]);
const { RANK: rank, OUT: out, MIN_RANKS: minRanks = '1', PAUSE_MS: pauseMs = '0' } = process.env;
const { DIE: die, HOOK: hookName } = process.env;
const own = Number(rank);

await initProcessGroup({ timeoutMs: Number(process.env['TIMEOUT_MS'] ?? 60_000) });
const model = newNet({ hasBuffers: process.env['BUFFERS'] !== '0' });
const ddp = new DistributedDataParallel(model, {
  faultTolerance: 'shrink',
  minRanks: Number(minRanks),
  // With a hook, three buckets.
  bucketCapMb: hookName === undefined ? 1e-3 : 2e-4,
  onMembershipChange: ({ worldSize, died, joined }) => {
    const ranks = (some: readonly { rank: number }[]) => some.map((one) => one.rank).join();
    console.log(`rank ${own}: ${worldSize} ranks, died [${ranks(died)}], joined [${ranks(joined)}]`);
  },
});
const hook =
  hookName === undefined
    ? undefined
    : hookNamed(hookName as HookName, (collective) => {
        dieAt(`hook-${collective}`);
      });
if (hook !== undefined) ddp.registerCommHook(hook);
const optimizer = newOptimizer(ddp.parameters());
const trainCompiled = compileStep(optimizer, (step: number) => lossOf(ddp, own, step));
let ranksByStep: (readonly number[])[] = [];
const log = {
  stateDict: () => ({ ranksByStep }),
  loadStateDict: (state: { ranksByStep: number[][] }) => {
    ranksByStep = state.ranksByStep;
  },
};
const hasJoined = await ddp.shareState({ optimizer, log });
if (hasJoined)
  writeFileSync(join(out!, `joined-${process.pid}`), JSON.stringify([own, ranksByStep.length + 1]));
console.log(`rank ${own} ${hasJoined ? `joins after step ${ranksByStep.length}` : 'starts'}`);

/** DIE=rank:step:moment kills this process at a moment of a step. */
function dieAt(moment: string): void {
  if (die === `${own}:${ranksByStep.length + 1}:${moment}` && !hasJoined)
    process.kill(process.pid, 'SIGKILL');
}

async function train(step: number): Promise<void> {
  optimizer.zeroGrad();
  dieAt('forward');
  const loss = lossOf(ddp, own, step);
  const averaged = loss.backward();
  dieAt('backward');
  await averaged;
  dieAt('optimizer');
  await optimizer.step();
}

while (ranksByStep.length < steps) {
  const step = ranksByStep.length + 1;
  await (process.env['COMPILED'] === '1' ? trainCompiled(step) : train(step));
  ranksByStep.push([...ddp.stepRanks]);
  if (step === 1) hook?.afterFirstStep();
  if (step % 10 === 0) console.log(`rank ${own} has done step ${step}`);
  if (Number(pauseMs) > 0) await setTimeout(Number(pauseMs));
  if (step % 25 === 0) {
    const { rank: current, size } = await ddp.retry(async (group) => {
      const sum = Int32Array.of(1);
      await group.allReduce(sum);
      return { rank: getRank(), size: sum[0] };
    });
    if (size !== getWorldSize() || current >= size) throw new Error(`rank ${current} of ${size}`);
  }
}

writeResult(out!, own, { ddp, ranksByStep, hook });
await destroyProcessGroup();
