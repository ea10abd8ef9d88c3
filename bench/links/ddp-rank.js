// One rank of several hosts: `ddp-rank.js <steps> <layers>` trains layers of 1,000 × 1,000 by DDP with buckets of 1 MiB, and
// prints as JSON the seconds of a step without an average of gradients, and of one with it, on the slowest rank.
import { F, nn, optim, randn } from '@ringrun/nn';
import {
  DistributedDataParallel,
  ReduceOp,
  barrier,
  defaultGroup,
  destroyProcessGroup,
  initProcessGroup,
} from 'ringrun';

const [steps, layers] = process.argv.slice(2).map(Number);

await initProcessGroup({ timeoutMs: 300_000 });
const modules = Array.from({ length: layers }, () => new nn.Linear(1000, 1000, { bias: false }));
const model = new nn.Sequential(...modules);
const optimizer = new optim.SGD(model.parameters(), { lr: 1e-6 });
const input = randn([4, 1000]);
const target = randn([4, 1000]);

async function secondsOfStep(forward) {
  const step = async () => {
    optimizer.zeroGrad();
    await F.mseLoss(forward(input), target).backward();
    await optimizer.step();
  };
  await step(); // compiles, opens connections
  await barrier();
  const startedAt = performance.now();
  for (let i = 0; i < steps; i += 1) await step();
  const seconds = new Float64Array([(performance.now() - startedAt) / 1000 / steps]);
  await defaultGroup().allReduce(seconds, { op: ReduceOp.MAX });
  return seconds[0];
}

const alone = await secondsOfStep((x) => model.forward(x));
const averaged = new DistributedDataParallel(model, { bucketCapMb: 1 });
console.log(JSON.stringify([alone, await secondsOfStep((x) => averaged.forward(x))]));
await destroyProcessGroup();
