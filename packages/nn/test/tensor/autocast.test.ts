import { setTimeout as sleep } from 'node:timers/promises';
import ort from 'onnxruntime-node';
import { describe, expect, test } from 'vitest';
import { autocast, checkpoint, compileStep, exportOnnx, F, GradScaler } from '../../src/index.ts';
import { isAutocastEnabled, manualSeed, nn, noGrad, optim, tensor, type Tensor } from '../../src/index.ts';
import { topologicalOrder } from '../../src/graph/topology.ts';
import { fill } from '../support/fill.ts';

class Net extends nn.Module {
  readonly conv = new nn.Conv2d(1, 4, 3, { padding: 1 });
  readonly norm = new nn.BatchNorm2d(4);
  readonly first = new nn.Linear(64, 16);
  readonly last = new nn.Linear(16, 3);
  recomputes = false;

  forward(x: Tensor): Tensor {
    const hidden = (images: Tensor) =>
      this.first.forward(this.norm.forward(this.conv.forward(images)).relu().flatten(1)).relu();
    return this.last.forward(this.recomputes ? checkpoint(hidden, x) : hidden(x));
  }
}

const images = tensor(fill([8, 1, 4, 4], 1), [8, 1, 4, 4]);
const labels = tensor(BigInt64Array.from({ length: 8 }, (_, i) => BigInt(i % 3)));
const lossOf = (model: Net) => F.crossEntropy(model.forward(images), labels);
const bf16 = { dtype: 'bfloat16' } as const;

function made(): Net {
  manualSeed(1);
  return new Net();
}

async function trained(
  step: (model: Net, optimizer: optim.Optimizer) => Promise<Tensor>,
  model = made(),
): Promise<{ losses: number[]; model: Net }> {
  const optimizer = new optim.AdamW(model.parameters(), { lr: 0.01 });
  const losses: number[] = [];
  for (let i = 0; i < 10; i += 1) losses.push(await (await step(model, optimizer)).item());
  return { losses, model };
}

const eager = async (model: Net, optimizer: optim.Optimizer): Promise<Tensor> => {
  const loss = autocast(bf16, () => lossOf(model));
  optimizer.zeroGrad();
  await loss.backward();
  await optimizer.step();
  return loss;
};

describe('the region', () => {
  test('is nested, disabled inside, and ends with the function', () => {
    const narrow = () => images.flatten(1).matmul(images.flatten(1).transpose(0, 1)).dtype;
    expect(isAutocastEnabled()).toBe(false);
    autocast(bf16, () => {
      expect(narrow()).toBe('bfloat16');
      autocast({ enabled: false }, () => {
        expect([narrow(), isAutocastEnabled()]).toEqual(['float32', false]);
        autocast({}, () => {
          expect(narrow()).toBe('bfloat16');
        });
      });
      expect(narrow()).toBe('bfloat16');
    });
    expect(narrow()).toBe('float32');
  });

  test('continues after await, and does not reach code that runs concurrently', async () => {
    const dtype = () => F.linear(images.flatten(1), tensor(fill([2, 16], 1), [2, 16])).dtype;
    const inside = autocast(bf16, async () => {
      await sleep(1);
      return dtype();
    });
    expect(dtype()).toBe('float32');
    expect(await inside).toBe('bfloat16');
  });

  test('ends when the function throws', () => {
    expect(() => {
      autocast(bf16, () => {
        throw new RangeError('stop');
      });
    }).toThrow(RangeError);
    expect(isAutocastEnabled()).toBe(false);
  });

  test.each<[unknown, string]>([
    [{ dtype: 'float16' }, "autocast: dtype must be 'bfloat16', got 'float16'"],
    [{ enabled: 1 }, 'autocast: enabled'],
    [{ device: 'cpu' }, 'device'],
  ])('rejects the options %j', (options, message) => {
    expect(() => autocast(options as object, () => 1)).toThrow(message);
  });
});

test('a parameter that is used twice is cast once, and again after it has changed', async () => {
  manualSeed(1);
  const layer = new nn.Linear(4, 4, { bias: false });
  const optimizer = new optim.SGD(layer.parameters(), { lr: 1 });
  const x = tensor(fill([2, 4], 1), [2, 4]);
  await autocast(bf16, async () => {
    const twice = () => layer.forward(layer.forward(x)).float().sum();
    const casts = topologicalOrder([twice().value]).filter(
      ({ op, inputs }) => op === 'Cast' && inputs[0] === layer.weight.value,
    );
    expect(casts).toHaveLength(1);
    for (let step = 0; step < 2; step += 1) {
      const loss = twice();
      optimizer.zeroGrad();
      await loss.backward();
      await optimizer.step();
    }
  });
});

describe('a training', () => {
  test('keeps parameters, gradients and running statistics in float32, near those without autocast', async () => {
    const narrow = await trained(eager);
    const wide = await trained(async (model, optimizer) => {
      const loss = lossOf(model);
      optimizer.zeroGrad();
      await loss.backward();
      await optimizer.step();
      return loss;
    });
    expect(narrow.losses[0]).not.toBe(wide.losses[0]);
    for (const [i, loss] of narrow.losses.entries()) expect(loss).toBeCloseTo(wide.losses[i], 1);
    for (const parameter of narrow.model.parameters()) {
      expect(parameter.dtype).toBe('float32');
      expect(parameter.grad).toBeInstanceOf(Float32Array);
    }
    const [mean] = [...narrow.model.namedBuffers()].map(([, buffer]) => buffer);
    expect(mean.dtype).toBe('float32');
    expect(await mean.bfloat16().array()).not.toEqual(await mean.array());
  });

  test.each([false, true])('compileStep has the losses of eager steps (traceOnce: %s)', async (traceOnce) => {
    const model = made();
    const optimizer = new optim.AdamW(model.parameters(), { lr: 0.01 });
    const step = compileStep(optimizer, (x: Tensor, y: Tensor) => F.crossEntropy(model.forward(x), y), {
      autocast: 'bfloat16',
      traceOnce,
    });
    const losses: number[] = [];
    for (let i = 0; i < 10; i += 1) losses.push(await (await step(images, labels)).item());
    const { losses: expected } = await trained(eager);
    for (const [i, loss] of losses.entries()) expect(loss).toBeCloseTo(expected[i], 3);
  });

  test('checkpoint recomputes bfloat16 with equal results', async () => {
    const model = made();
    model.recomputes = true;
    expect((await trained(eager, model)).losses).toEqual((await trained(eager)).losses);
  });

  test('frozen parameters stay, and the others train', async () => {
    const model = made();
    model.conv.requiresGrad(false);
    const before = model.conv.weight.data.slice();
    const { losses } = await trained(eager, model);
    expect(model.conv.weight.data).toEqual(before);
    expect(losses[9]).toBeLessThan(losses[0]);
  });

  test('noGrad and eval compute in bfloat16', async () => {
    const model = made();
    model.eval();
    const scores = autocast(bf16, () => noGrad(() => model.forward(images)));
    expect([scores.dtype, scores.requiresGrad]).toEqual(['bfloat16', false]);
    const wide = (await model.forward(images).array()) as Float32Array;
    for (const [i, score] of ((await scores.array()) as Float32Array).entries()) {
      expect(Math.abs(score - wide[i])).toBeLessThan(0.03);
    }
  });

  test('a compiled step rejects other dtypes', () => {
    const optimizer = new optim.SGD(made().parameters(), { lr: 1 });
    const options = { autocast: 'float16' } as unknown as { autocast: 'bfloat16' };
    expect(() => compileStep(optimizer, () => images.sum(), options)).toThrow('autocast');
  });
});

test('an exported model has casts, and onnxruntime computes its results', async () => {
  class Cast extends nn.Module {
    readonly net = made();
    forward(x: Tensor): Tensor {
      return autocast(bf16, () => this.net.forward(x));
    }
  }
  const model = new Cast();
  model.eval();
  const expected = (await model.forward(images).array()) as Float32Array;
  const bytes = exportOnnx(model, { inputShape: [8, 1, 4, 4] });
  const session = await ort.InferenceSession.create(bytes);
  const given = {
    [session.inputNames[0]]: new ort.Tensor('float32', images.elements() as Float32Array, [8, 1, 4, 4]),
  };
  const result = (await session.run(given))[session.outputNames[0]];
  expect(result.type).toBe('float32');
  for (const [i, score] of (result.data as Float32Array).entries()) {
    expect(Math.abs(score - expected[i])).toBeLessThan(0.02);
  }
});

test('GradScaler has a scale of 1 and steps the optimizer', async () => {
  const model = made();
  const optimizer = new optim.SGD(model.parameters(), { lr: 0.1 });
  const scaler = new GradScaler();
  const before = model.last.weight.data.slice();
  const loss = autocast(bf16, () => lossOf(model));
  await scaler.scale(loss).backward();
  scaler.unscale(optimizer);
  await scaler.step(optimizer);
  scaler.update();
  expect([scaler.getScale(), scaler.isEnabled(), scaler.stateDict()]).toEqual([1, false, {}]);
  expect(model.last.weight.data).not.toEqual(before);
});
