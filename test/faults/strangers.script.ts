// One rank of a job that averages gradients until <folder>/finish exists. Appends the time of every 20th step to
// <folder>/rank-<rank>.txt. The first rank prints the number of the restart once the job has begun.
import { appendFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { allReduce, destroyProcessGroup, getRank, initProcessGroup, ReduceOp } from 'ringrun';

const [folder] = process.argv.slice(2);
await initProcessGroup({ timeoutMs: 30_000 });
const rank = getRank();
const gradients = new Float32Array(16_384).fill(rank);
const file = join(folder, `rank-${rank}.txt`);
for (let step = 1, isLast = false; !isLast; step += 1) {
  await allReduce(gradients, { op: ReduceOp.AVG });
  if (step === 1 && rank === 0) console.log(`begun ${process.env.RINGRUN_RESTART_COUNT}`);
  if (step % 20 > 0) continue;
  appendFileSync(file, `${Date.now()}\n`);
  const flag = Int32Array.of(existsSync(join(folder, 'finish')) ? 1 : 0);
  await allReduce(flag, { op: ReduceOp.MAX });
  isLast = flag[0] === 1;
}
await destroyProcessGroup();
