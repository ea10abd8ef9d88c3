// One rank of several hosts: `hooks-on-link.script.ts <rounds> <width> <batch> <hook,…>` trains a model 784 → width → width → 10
// with communication hooks in turn, one step of each in a round. It prints as JSON the milliseconds of every step of each hook on
// the slowest rank, the bytes that this host sent in it, and a digest of the parameters.
import { readFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { F, manualSeed, nn, optim, tensor, type Tensor } from '@ringrun/nn';
import {
  DistributedDataParallel,
  ReduceOp,
  allReduce,
  barrier,
  commHooks,
  destroyProcessGroup,
  getRank,
  initProcessGroup,
  verifyIdenticalParameters,
  type CommHook,
} from 'ringrun';

const [rounds, width, batch] = process.argv.slice(2, 5).map(Number);
const names = process.argv[5].split(',') as (keyof typeof hooks)[];

const hooks = {
  none: () => undefined,
  fp16Compress: () => commHooks.fp16Compress,
  bf16Compress: () => commHooks.bf16Compress,
  int8Compress: () => commHooks.int8Compress(),
  int4Compress: () => commHooks.int4Compress(),
  powerSgd: () => commHooks.powerSgd({ matrixApproximationRank: 4, startPowerSgdIter: 0 }),
};

class Net extends nn.Module {
  first = new nn.Linear(784, width);
  second = new nn.Linear(width, width);
  last = new nn.Linear(width, 10);

  forward(input: Tensor): Tensor {
    return this.last.forward(F.relu(this.second.forward(F.relu(this.first.forward(input)))));
  }
}

function way(hook: CommHook | undefined) {
  manualSeed(1);
  const ddp = new DistributedDataParallel(new Net(), { verifyEvery: 0 });
  if (hook !== undefined) ddp.registerCommHook(hook);
  const optimizer = new optim.SGD(ddp.parameters(), { lr: 0.01, momentum: 0.9 });
  return { ddp, optimizer, times: [] as number[], sent: [] as number[] };
}

/** Bytes sent through the only interface to the other host. */
function bytesSent(): number {
  return Number(readFileSync('/sys/class/net/eth0/statistics/tx_bytes', 'utf8'));
}

// A high priority, so that hosts do not wait for processors. The addon's threads start later and inherit it.
setPriority(constants.priority.PRIORITY_HIGHEST);
await initProcessGroup();
const ways = Object.fromEntries(names.map((name) => [name, way(hooks[name]())]));
const data = Float32Array.from({ length: batch * 784 }, (_, i) => Math.sin(i + getRank()));
const classes = BigInt64Array.from({ length: batch }, (_, i) => BigInt(i % 10));
for (let round = -2; round < rounds; round += 1) {
  for (const { ddp, optimizer, times, sent } of Object.values(ways)) {
    await barrier();
    const [startedAt, before] = [performance.now(), bytesSent()];
    optimizer.zeroGrad();
    await F.crossEntropy(ddp.forward(tensor(data, [batch, 784])), tensor(classes)).backward();
    await optimizer.step();
    const duration = performance.now() - startedAt;
    // A rank may have received everything before its own last bytes have left.
    await barrier();
    if (round < 0) continue;
    times.push(duration);
    sent.push(bytesSent() - before);
  }
}
const report: Record<string, object> = {};
for (const [name, { ddp, times, sent }] of Object.entries(ways)) {
  const longest = Float64Array.from(times);
  await allReduce(longest, { op: ReduceOp.MAX });
  report[name] = { times: [...longest], sent, digest: await verifyIdenticalParameters(ddp.module) };
}
console.log(JSON.stringify(report));
await destroyProcessGroup();
