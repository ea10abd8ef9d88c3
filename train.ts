// node launch --nproc 2 train.ts
import { F, nn, optim, tensor, type Tensor } from '@ringrun/nn';
import * as dist from 'ringrun';

class Net extends nn.Module {
  hidden = new nn.Linear(2, 32);
  output = new nn.Linear(32, 2);
  forward(points: Tensor): Tensor {
    return F.logSoftmax(this.output.forward(F.relu(this.hidden.forward(points))), 1);
  }
}

// Points of a square, and whether each lies in a circle.
const sample = (x: number, y: number) => ({ at: Float32Array.of(x, y), inside: BigInt(x * x + y * y < 0.7) });
const dataset = { length: 40_000, at: (i: number) => sample(Math.cos(i * i), Math.sin(7 * i)) };

await dist.initProcessGroup(); // RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT; alone, a world of one
const model = new dist.DistributedDataParallel(new Net()); // everyone starts from rank 0's parameters
const optimizer = new optim.SGD(model.module.parameters(), { lr: 0.1, momentum: 0.9 });
const loader = new dist.DataLoader(dataset, { batchSize: 32, sampler: new dist.DistributedSampler(dataset) });
let step = 0;
for await (const { at, inside } of loader) {
  const loss = F.nllLoss(model.forward(tensor(at.data, at.shape)), tensor(inside.data));
  optimizer.zeroGrad();
  await loss.backward(); // gradients are averaged over all ranks
  await optimizer.step();
  if (step++ % 100 === 0 && dist.getRank() === 0) console.log(`loss=${(await loss.item()).toFixed(4)}`);
}
await dist.destroyProcessGroup();
