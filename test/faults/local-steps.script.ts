// One rank of a DiLoCo that survives the death of others: `local-steps.script.ts <steps>`. Writes its parameters to the folder OUT.
// STREAMING=1: two fragments that are exchanged during further steps. WARMUP: first steps, which average gradients.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { DiLoCo, destroyProcessGroup, initProcessGroup, type DiLoCoOptions } from 'ringrun';
import { lossOf, newNet, newOptimizer } from '../fixtures/recoverable-training.ts';

const steps = Number(process.argv[2]);
const {
  RANK: rank,
  OUT: out,
  PAUSE_MS: pauseMs = '0',
  STREAMING: streaming,
  WARMUP: warmup = '0',
} = process.env;
const own = Number(rank);

await initProcessGroup({ timeoutMs: 60_000 });
const schedule: DiLoCoOptions =
  streaming === '1'
    ? { innerSteps: 6, fragments: 2, overlapSteps: 2, transport: 'int8' }
    : { innerSteps: 5, outer: { lr: 1, momentum: 0 } };
const model = new DiLoCo(newNet(), { faultTolerance: 'shrink', warmupSteps: Number(warmup), ...schedule });
const optimizer = newOptimizer(model.parameters());
const ranks: number[][] = [];
const hasJoined = await model.shareState({ optimizer });
console.log(`rank ${own} ${hasJoined ? `joins after step ${model.steps}` : 'starts'}`);

while (model.steps < steps) {
  optimizer.zeroGrad();
  await lossOf(model, own, model.steps + 1).backward();
  await optimizer.step();
  await model.step();
  ranks.push([...model.stepRanks]);
  if (model.steps % 10 === 0) console.log(`rank ${own} has done step ${model.steps}`);
  if (Number(pauseMs) > 0) await setTimeout(Number(pauseMs));
}

await model.synchronize();
const parameters = [...model.parameters()].map(({ data }) =>
  Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64'),
);
writeFileSync(
  join(out!, `rank-${own}.json`),
  JSON.stringify({ steps: model.steps, parameters, lastRanks: ranks.at(-1) }),
);
await destroyProcessGroup();
