// One rank of a job whose wall clock is changed. Adds numbers with all ranks and saves checkpoints for SECONDS after
// the file <folder>/changed exists. Arguments: <folder>.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Checkpointer, allReduce, destroyProcessGroup, initProcessGroup } from 'ringrun';

const [folder] = process.argv.slice(2);
const {
  RANK: rank,
  RINGRUN_RESTART_COUNT: restarts,
  SECONDS: seconds = '3',
  TIMEOUT_MS: timeoutMs = '5000',
} = process.env;
/** Rank 0 is first at each sum, and waits for the others. */
const stepMs = rank === '0' ? 1 : 20;

await initProcessGroup({ timeoutMs: Number(timeoutMs) });
let steps = 0;
const progress = {
  stateDict: () => ({ steps }),
  loadStateDict: (state: { steps: number }) => {
    steps = state.steps;
  },
};
const checkpoints = new Checkpointer({ dir: join(folder, 'checkpoints'), keep: 2 });
checkpoints.register({ progress });
await checkpoints.resume('auto');

let changedAt: number | undefined;
const isOver = () => changedAt !== undefined && performance.now() - changedAt > Number(seconds) * 1000;
for (const continues = new Float32Array(1); ;) {
  continues[0] = isOver() ? 0 : 1;
  await allReduce(continues);
  if (continues[0] === 0) break;
  steps += 1;
  if (steps % 20 === 0) await checkpoints.save({ step: steps });
  if (steps === 5) console.log(`rank ${rank} works in round ${restarts}`);
  if (existsSync(join(folder, 'changed'))) changedAt ??= performance.now();
  await sleep(stepMs);
}
console.log(`rank ${rank} ends`);
await destroyProcessGroup();
