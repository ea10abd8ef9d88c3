import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import {
  checkpoint,
  compileStep,
  F,
  manualSeed,
  nn,
  noGrad,
  optim,
  tensor,
  type Tensor,
} from '../../src/index.ts';
import { builtFile } from '../../../../test/support/built-script.ts';
import { fill } from '../support/fill.ts';
import '../support/one-thread.ts';

const filled = (shape: readonly number[], seed: number) => tensor(fill(shape, seed), shape);

/** Blocks with matrix products, normalization, dropout and running statistics. */
class Rows extends nn.Module {
  readonly blocks = new nn.ModuleList(
    [0, 1, 2].map(
      () => new nn.Sequential(new nn.Linear(6, 6), new nn.BatchNorm1d(6), new nn.Tanh(), new nn.Dropout(0.3)),
    ),
  );
  readonly last = new nn.Linear(6, 2);

  forward(x: Tensor, saves: boolean): Tensor {
    for (const block of this.blocks)
      x = saves ? checkpoint((given) => block.forward(given), x) : block.forward(x);
    return this.last.forward(x);
  }
}

/** Convolutions in the layout with the batch innermost. */
class Images extends nn.Module {
  readonly first = new nn.Conv2d(2, 4, 3, { padding: 1 });
  readonly second = new nn.Conv2d(4, 3, 3, { padding: 1 });
  readonly last = new nn.Linear(3 * 4 * 4, 2);

  forward(x: Tensor, saves: boolean): Tensor {
    const part = (given: Tensor) =>
      F.maxPool2d(F.relu(this.second.forward(F.relu(this.first.forward(given)))), 2);
    const features = saves ? checkpoint(part, x) : part(x);
    return this.last.forward(F.flatten(features));
  }
}

const models = {
  rows: [() => new Rows(), [18, 6]],
  images: [() => new Images(), [18, 2, 8, 8]],
} as const;

describe.each(['rows', 'images'] as const)('%s', (name) => {
  const [make, shape] = models[name];

  test.each(['backward', 'compileStep'])(
    'three steps are bit-identical with and without checkpoints: %s',
    async (way) => {
      const trained = async (saves: boolean) => {
        manualSeed(1);
        const model = make();
        const optimizer = new optim.SGD(model.parameters(), { lr: 0.1, momentum: 0.9 });
        const losses: number[] = [];
        const lossOf = (x: Tensor) => F.mseLoss(model.forward(x, saves), filled([18, 2], 3));
        const compiled = compileStep(optimizer, lossOf);
        for (let step = 0; step < 3; step += 1) {
          const x = filled(shape, step);
          if (way === 'compileStep') {
            losses.push(await (await compiled(x)).item());
            continue;
          }
          const loss = lossOf(x);
          optimizer.zeroGrad();
          await loss.backward();
          await optimizer.step();
          losses.push(await loss.item());
        }
        return { losses, state: model.stateDict() };
      };
      const [kept, recomputed] = [await trained(false), await trained(true)];
      expect(recomputed).toEqual(kept);
      expect(kept.losses[2]).not.toBe(kept.losses[0]);
    },
  );
});

test('several inputs and outputs, and other values', async () => {
  const layer = new nn.Linear(3, 3);
  const [x, y] = [filled([4, 3], 1), filled([4, 3], 2)];
  const gradientOf = async (saves: boolean) => {
    const part = (a: Tensor, b: Tensor, factor: number) => {
      const hidden = layer.forward(a.mul(b)).tanh();
      return [hidden.mul(factor), hidden.add(b)] as const;
    };
    const [first, second] = saves ? checkpoint(part, x, y, 2) : part(x, y, 2);
    layer.zeroGrad();
    await first.mul(second).sum().backward();
    return [...layer.weight.grad!];
  };
  expect(await gradientOf(true)).toEqual(await gradientOf(false));
});

test('reads and noGrad compute the same', async () => {
  const layer = new nn.Linear(3, 3);
  const x = filled([4, 3], 1);
  const output = () => checkpoint((a: Tensor) => layer.forward(a).tanh(), x);
  const plain = await layer.forward(x).tanh().array();
  expect(await output().array()).toEqual(plain);
  expect(await noGrad(output).array()).toEqual(plain);
});

test('rejects functions that use other computed tensors, and results other than tensors', () => {
  const hidden = filled([4, 3], 1).mul(2);
  expect(() => checkpoint((a: Tensor) => a.add(hidden), filled([4, 3], 2))).toThrow(
    'got one that uses another computed tensor, float32[4,3]. Pass it as an input',
  );
  expect(() => checkpoint((() => 1) as never)).toThrow('expected a function that returns tensors, got 1.');
  expect(() => checkpoint(1 as never)).toThrow('expected a function, got 1.');
});

test('a step needs less than 0.7 of the memory', () => {
  const script = fileURLToPath(builtFile(new URL('activation-checkpoint-memory.script.ts', import.meta.url)));
  const peakOf = (way: string) =>
    JSON.parse(execFileSync(process.execPath, [script, way], { encoding: 'utf8' })) as {
      mebibytes: number;
      digest: string;
    };
  const [kept, recomputed] = [peakOf('kept'), peakOf('checkpoint')];
  expect(recomputed.digest).toBe(kept.digest);
  expect(recomputed.mebibytes).toBeLessThan(0.7 * kept.mebibytes);
});
