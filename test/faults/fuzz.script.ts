// One rank of a training that repeats the same round until the file <folder>/finish exists: `fuzz.script.ts <folder>
// <steps of a round>`. After each round it exchanges the digest of its parameters through the store, and appends its
// measurements to <folder>/rank-<rank>.jsonl.
import { createHash } from 'node:crypto';
import { appendFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import {
  DistributedDataParallel,
  ReduceOp,
  allReduce,
  connectStore,
  destroyProcessGroup,
  getRank,
  initProcessGroup,
} from 'ringrun';
import { lossOf, newNet, newOptimizer } from '../fixtures/recoverable-training.ts';
import type { Round } from './fixtures/round.ts';

const [folder, steps] = process.argv.slice(2);
const { RINGRUN_STORE, MASTER_ADDR, MASTER_PORT } = process.env;
const [, host, port] = /([^/]+):(\d+)$/.exec(RINGRUN_STORE ?? `${MASTER_ADDR}:${MASTER_PORT}`)!;

await initProcessGroup({ timeoutMs: 30_000 });
const rank = getRank();
const store = await connectStore({ host, port: Number(port), timeoutMs: 30_000 });
const net = newNet();
const initial = structuredClone(net.stateDict());
const ddp = new DistributedDataParallel(net, { bucketCapMb: 1e-3 });

async function train(): Promise<string> {
  net.loadStateDict(initial);
  const optimizer = newOptimizer(ddp.parameters());
  for (let step = 1; step <= Number(steps); step += 1) {
    optimizer.zeroGrad();
    await lossOf(ddp, rank, step).backward();
    await optimizer.step();
  }
  optimizer.release();
  const hash = createHash('sha256');
  // Not the buffers: each rank has its own statistics after its last forward pass.
  for (const { data } of net.parameters()) hash.update(data);
  return hash.digest('hex');
}

for (let round = 0, isLast = false; !isLast; round += 1) {
  const begin = { at: Date.now(), cpu: process.cpuUsage() };
  const digest = await train();
  const { user, system } = process.cpuUsage(begin.cpu);
  const measured: Round = { digest, from: begin.at, to: Date.now(), cpuMs: (user + system) / 1000 };
  appendFileSync(join(folder, `rank-${rank}.jsonl`), `${JSON.stringify(measured)}\n`);
  await store.set(`digest/${rank}/${round}`, digest);
  const other = Buffer.from(await store.get(`digest/${1 - rank}/${round}`)).toString();
  if (other !== digest) throw new Error(`round ${round}: expected digest ${digest}, got ${other}`);
  await store.deleteKey(`digest/${rank}/${round - 1}`);
  const flag = Int32Array.of(existsSync(join(folder, 'finish')) ? 1 : 0);
  await allReduce(flag, { op: ReduceOp.MAX });
  isLast = flag[0] === 1;
}
await store.close();
await destroyProcessGroup();
console.log(`rank ${rank} has ended`);
