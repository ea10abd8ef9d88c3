import { manualSeed, nn, optim, tensor, type Tensor } from '@ringrun/nn';
import { DataLoader } from 'ringrun';
import { encodeParts } from '../../packages/runtime/src/checkpoint/packed-parts.ts';
import { RegisteredObjects } from '../../packages/runtime/src/checkpoint/registered-objects.ts';

/** The files of a checkpoint by name. */
export type Files = Map<string, Uint8Array<ArrayBuffer>>;

/** Models, optimizers, schedulers and loaders after their first steps. */
export async function trained(seed: number) {
  manualSeed(seed);
  const model = new nn.Linear(2, 1);
  const adam = new optim.Adam(model.parameters(), { lr: 0.1 });
  const scheduler = new optim.lrScheduler.StepLR(adam, 5);
  const second = new nn.Linear(2, 1);
  const sgd = new optim.SGD(second.parameters(), { lr: 0.1, momentum: 0.9 });
  const plateau = new optim.lrScheduler.ReduceLROnPlateau(sgd);
  const third = new nn.Linear(2, 1);
  const lbfgs = new optim.LBFGS(third.parameters(), { lr: 0.1, maxIter: 3 });
  const dataset = { length: 40, at: (i: number) => ({ x: i }) };
  const loader = new DataLoader(dataset, { batchSize: 2, shuffle: true, seed: 3 });
  const streamed = {
    async *iterate() {
      for (let i = 0; i < 20; i += 1) yield await Promise.resolve({ x: i });
    },
  };
  const stream = new DataLoader(streamed, { batchSize: 2 });
  const input = () => tensor(Float32Array.of(1, 2, 3, seed), [2, 2]);
  for (const [net, optimizer] of [
    [model, adam],
    [second, sgd],
  ] as const) {
    optimizer.zeroGrad();
    await net.forward(input()).sum().backward();
    await optimizer.step();
  }
  scheduler.step();
  plateau.step(1);
  await lbfgs.step(async () => {
    lbfgs.zeroGrad();
    const loss: Tensor = third.forward(input()).pow(2).mean();
    await loss.backward();
    return loss;
  });
  for (const batches of [loader, stream]) {
    const pass = (batches as AsyncIterable<unknown>)[Symbol.asyncIterator]();
    for (let count = 0; count < 3; count += 1) await pass.next();
    await pass.return?.();
  }
  return { model, adam, scheduler, second, sgd, plateau, third, lbfgs, loader, stream };
}

export function registeredIn(objects: Readonly<Record<string, unknown>>): RegisteredObjects {
  const registered = new RegisteredObjects();
  registered.add(objects, false);
  return registered;
}

export async function filesOf(registered: RegisteredObjects): Promise<Files> {
  const parts = await registered.collectStates(0, { best: 1 });
  return encodeParts(parts, (_, bytes) => new Uint8Array(bytes)) as Files;
}
