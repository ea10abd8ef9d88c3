// node launch --nproc 2 train.ts
import { F, nn, optim, tensor, type Tensor } from '@ringrun/nn';
import { DataLoader, DistributedDataParallel, DistributedSampler } from 'ringrun';
import { destroyProcessGroup, getRank, initProcessGroup } from 'ringrun';

class Net extends nn.Module {
  hidden = new nn.Linear(2, 32);
  output = new nn.Linear(32, 2);
  forward(points: Tensor): Tensor {
    return F.logSoftmax(this.output.forward(F.relu(this.hidden.forward(points))), 1);
  }
}

/** 4,000 points of a square, and whether each lies in a circle. */
const angles = Array.from({ length: 4000 }, (_, i) => [Math.cos(i * i), Math.sin(7 * i)] as const);
const points = angles.map(([x, y]) => ({ at: Float32Array.of(x, y), inside: BigInt(x * x + y * y < 0.7) }));
const dataset = { length: points.length, at: (index: number) => points[index] };

await initProcessGroup(); // RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT; alone, a world of one
const model = new DistributedDataParallel(new Net()); // everyone starts from rank 0's parameters
const optimizer = new optim.SGD(model.module.parameters(), { lr: 0.1, momentum: 0.9 });
const loader = new DataLoader(dataset, { batchSize: 32, sampler: new DistributedSampler(dataset) });
for (let epoch = 1; epoch <= 10; epoch += 1) {
  let last = 0;
  for await (const { at, inside } of loader) {
    const loss = F.nllLoss(model.forward(tensor(at.data, at.shape)), tensor(inside.data));
    optimizer.zeroGrad();
    await loss.backward(); // gradients are averaged over all ranks
    await optimizer.step();
    last = await loss.item();
  }
  if (getRank() === 0) console.log(`epoch ${epoch} loss=${last.toFixed(4)}`);
}
await destroyProcessGroup();
