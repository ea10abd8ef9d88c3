import {
  Checkpointer,
  DataLoader,
  DistributedDataParallel,
  DistributedSampler,
  ImageShards,
  RandomSampler,
  SequentialSampler,
  loadMnist,
  type Dataset,
} from 'ringrun';
import { describe, expect, test } from 'vitest';
import {
  checkpoint,
  compileStep,
  exportOnnx,
  F,
  manualSeed,
  nn,
  optim,
  tensor,
  type Tensor,
} from '../../src/index.ts';
import '../support/one-thread.ts';

// A choice at run time, such as `adam ? new optim.AdamW(…) : new optim.SGD(…)`, has a union type. Every function that
// takes an optimizer, model, loss, dataset or scheduler takes such a union: this file compiles.

class Narrow extends nn.Module {
  layer = new nn.Linear(2, 2);
  forward(x: Tensor): Tensor {
    return this.layer.forward(x);
  }
}

class Deep extends nn.Module {
  layers = new nn.Sequential(new nn.Linear(2, 3), new nn.ReLU(), new nn.Linear(3, 2));
  forward(x: Tensor): Tensor {
    return this.layers.forward(x);
  }
}

const x = tensor(Float32Array.of(1, 2, 3, 4), [2, 2]);
const y = tensor(Float32Array.of(0, 1, 1, 0), [2, 2]);

const optimizersOf = (model: Narrow | Deep, first: boolean, second: boolean) =>
  first
    ? new optim.AdamW(model.parameters(), { lr: 0.1 })
    : second
      ? new optim.SGD(model.parameters(), { lr: 0.1 })
      : new optim.RMSprop(model.parameters(), { lr: 0.1 });

describe.each([
  [true, true],
  [true, false],
  [false, true],
  [false, false],
])('unions, %s and %s:', (first, second) => {
  test('a model, a loss, an optimizer and a scheduler chosen at run time train', async () => {
    manualSeed(1);
    const model = first ? new Narrow() : new Deep();
    const loss = second ? new nn.MSELoss() : new nn.L1Loss();
    const lossOf = second ? F.mseLoss : F.l1Loss;
    const optimizer = optimizersOf(model, first, second);
    const { lrScheduler, swaUtils } = optim;
    const scheduler = first
      ? new lrScheduler.StepLR(optimizer, 3)
      : new lrScheduler.CosineAnnealingLR(optimizer, 9);
    const step = compileStep(optimizer, (a: Tensor, b: Tensor) => loss.forward(model.forward(a), b));
    const before = await (await step(x, y)).item();
    for (let i = 0; i < 5; i += 1) await step(x, y);
    scheduler.step();
    optimizer.zeroGrad();
    await lossOf(checkpoint(second ? F.relu : F.silu, model.forward(x)), y).backward();
    await optimizer.step({ clipGradNorm: 1 });
    optimizer.loadStateDict(optimizer.stateDict());
    scheduler.loadStateDict(scheduler.stateDict());
    optimizer.paramGroups[0].lr = 0.01;
    const averaged = new swaUtils.AveragedModel(first ? new Narrow() : new Deep());
    averaged.updateParameters(model);
    await swaUtils.updateBn([x], model, (batch) => model.forward(batch));
    expect(await F.mseLoss(averaged.forward(x), model.forward(x)).item()).toBe(0);
    expect(await loss.forward(model.forward(x), y).item()).toBeLessThan(before);
    expect(exportOnnx(model, { inputShape: [1, 2] }).length).toBeGreaterThan(100);
  });

  test('containers accept modules chosen at run time', () => {
    const model = first ? new Narrow() : new Deep();
    const activation = second ? new nn.ReLU() : new nn.GELU();
    const containers = [
      new nn.Sequential(activation, model),
      new nn.ModuleList([activation, model]),
      new nn.ModuleDict({ activation, model }),
    ];
    for (const one of containers) {
      nn.utils.clipGradNorm(one.parameters(), 1);
      expect([...one.parameters()]).toHaveLength(first ? 2 : 4);
    }
    expect(nn.SyncBatchNorm.convertSyncBatchNorm(model)).toBe(model);
  });

  test('a dataset and a sampler chosen at run time are loaded', async () => {
    const rows = { length: 4, at: (i: number) => ({ row: Float32Array.of(i), label: 1n }) };
    const pairs = { length: 4, at: (i: number) => ({ row: Float32Array.of(i, i), label: BigInt(i) }) };
    const dataset = first ? rows : pairs;
    const sampler = second ? new SequentialSampler(dataset) : new RandomSampler(dataset);
    const loader = new DataLoader(dataset, { batchSize: 2, sampler });
    const shapes: unknown[] = [];
    for await (const { row, label } of loader)
      shapes.push([tensor(row.data, row.shape).shape, label.data.length]);
    expect(shapes).toEqual(Array(2).fill([[2, first ? 1 : 2], 2]));
  });
});

type Images = Awaited<ReturnType<typeof loadMnist>>;
type Image = Images extends Dataset<infer Sample> ? Sample : never;

/** Only compiled. */
export async function loaders(
  first: boolean,
  images: Images,
  others: Dataset<{ text: string }>,
): Promise<void> {
  const shards = new ImageShards('');
  for await (const { image } of new DataLoader(first ? shards : images, { batchSize: 2 })) tensor(image);
  // For different samples, TypeScript needs the union type.
  for await (const batch of new DataLoader<Image | { text: string }>(first ? images : others)) {
    if ('image' in batch) tensor(batch.image);
  }
}

/** Needs a process group; only compiled. */
export function distributed(first: boolean, dataset: Dataset<Float32Array>): void {
  const model = first ? new Narrow() : new Deep();
  const ddp = new DistributedDataParallel(model);
  const maybe = first ? ddp : model;
  const optimizer = optimizersOf(ddp.module, first, !first);
  const scheduler = first
    ? new optim.lrScheduler.ReduceLROnPlateau(optimizer)
    : new optim.lrScheduler.OneCycleLR(optimizer, 1, { totalSteps: 3 });
  const sampler = first ? new DistributedSampler(dataset) : new SequentialSampler(dataset);
  const loader = new DataLoader(dataset, { sampler });
  compileStep(optimizer, (a: Tensor) => maybe.forward(a).sum());
  new optim.swaUtils.AveragedModel(model).updateParameters(maybe);
  new optim.swaUtils.SWALR(optimizer, 0.1);
  new Checkpointer({ dir: '' }).register({ model: maybe, optimizer, scheduler, sampler, loader });
  void ddp.shareState({ optimizer, scheduler });
}
