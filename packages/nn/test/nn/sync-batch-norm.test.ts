import type { ProcessGroup } from 'ringrun';
import { describe, expect, test } from 'vitest';
import * as ort from 'onnxruntime-node';
import { exportOnnx, nn, Parameter, tensor } from '../../src/index.ts';
import { fill } from '../support/fill.ts';
import { expectClose } from '../support/numeric.ts';
import '../support/one-thread.ts';

const namesOf = (entries: Iterable<readonly [string, unknown]>) => Array.from(entries, ([name]) => name);

// With several ranks: test/sync-batch-norm.test.ts.
describe('outside of a group', () => {
  test.each([
    [[5, 3], () => new nn.BatchNorm1d(3)],
    [[2, 3, 4, 2], () => new nn.BatchNorm2d(3)],
  ])('it is plain batch normalization, bit for bit: %j', async (shape, plain) => {
    const [sync, other] = [new nn.SyncBatchNorm(3), plain()];
    const results = [sync, other].map(async (norm) => {
      const x = new Parameter(fill(shape, 1), shape);
      const output = norm.forward(x);
      await output
        .mul(tensor(fill(shape, 2), shape))
        .sum()
        .backward();
      const tensors = [...norm.parameters()].map(({ grad }) => grad);
      return [
        await output.array(),
        x.grad,
        ...tensors,
        ...[...norm.namedBuffers()].map(([, { data }]) => data),
      ];
    });
    expect(await results[0]).toEqual(await results[1]);
    expect([...sync.stateDict().keys()]).toEqual([...other.stateDict().keys()]);
  });

  test('it accepts 2 or more dimensions, and rejects what BatchNorm rejects', async () => {
    const norm = new nn.SyncBatchNorm(2);
    const shape = [2, 2, 1, 2, 1];
    expect(await norm.forward(tensor(fill(shape, 1), shape)).array()).toHaveLength(8);
    const of = (...dims: number[]) => tensor(fill(dims, 1), dims);
    const wrong = 'SyncBatchNorm: expected float32[N,C] or [N,C,…] with C = 2, got float32';
    expect(() => norm.forward(of(2))).toThrow(`${wrong}[2].`);
    expect(() => norm.forward(of(4, 3))).toThrow(`${wrong}[4,3].`);
    expect(() => norm.forward(of(1, 2))).toThrow('expected more than 1 value per channel in training');
    expect(() => new nn.SyncBatchNorm(0)).toThrow('numFeatures');
    expect(() => new nn.SyncBatchNorm(2, { momentum: 2 })).toThrow(
      'SyncBatchNorm: momentum must be from 0 to 1',
    );
  });
});

describe('convertSyncBatchNorm', () => {
  class Net extends nn.Module {
    conv = new nn.Conv2d(1, 2, 3);
    norm = new nn.BatchNorm2d(2, { momentum: null, eps: 0.5 });
    again = this.norm;
    blocks = new nn.ModuleList([
      new nn.Sequential(new nn.BatchNorm1d(3, { affine: false, trackRunningStats: false }), new nn.ReLU()),
    ]);
  }

  test('replaces each batch normalization and keeps parameters, buffers, settings, names, mode', () => {
    const model = new Net();
    model.norm.eval();
    const parameters = [...model.namedParameters()];
    const buffers = [...model.namedBuffers()];
    const modules = namesOf(model.namedModules());
    const { settings } = model.norm;
    expect(nn.SyncBatchNorm.convertSyncBatchNorm(model)).toBe(model);
    expect(model.norm).toBeInstanceOf(nn.SyncBatchNorm);
    expect(model.again).toBe(model.norm);
    expect(model.norm.settings).toEqual(settings);
    expect(model.norm.training).toBe(false);
    expect(model.blocks[0][0]).toBeInstanceOf(nn.SyncBatchNorm);
    expect(namesOf(model.namedModules())).toEqual(modules);
    for (const [list, before] of [
      [[...model.namedParameters()], parameters],
      [[...model.namedBuffers()], buffers],
    ] as const) {
      expect(namesOf(list)).toEqual(namesOf(before));
      for (const [place, [, tensor]] of list.entries()) expect(tensor).toBe(before[place][1]);
    }
    expect([...model.namedCollectives()]).toEqual(['norm', 'blocks.0.0']);
  });

  test('returns a new module for a batch normalization, and the same model without one', () => {
    const norm = new nn.BatchNorm1d(3);
    const converted: nn.SyncBatchNorm = nn.SyncBatchNorm.convertSyncBatchNorm(norm);
    expect(converted.weight).toBe(norm.weight);
    const linear = new nn.Linear(2, 2);
    expect(nn.SyncBatchNorm.convertSyncBatchNorm(linear)).toBe(linear);
    expect([...linear.namedCollectives()]).toEqual([]);
  });

  test('rejects the null group of a rank outside, before replacing anything', () => {
    const model = new Net();
    expect(() => nn.SyncBatchNorm.convertSyncBatchNorm(model, null as unknown as ProcessGroup)).toThrow(
      'expected a process group, got null',
    );
    expect(model.norm).toBeInstanceOf(nn.BatchNorm2d);
  });
});

test('a converted model is exported as in evaluation mode', async () => {
  const model = nn.SyncBatchNorm.convertSyncBatchNorm(
    new nn.Sequential(new nn.Conv2d(1, 2, 3), new nn.BatchNorm2d(2)),
  );
  const shape = [3, 1, 5, 5];
  await model.forward(tensor(fill(shape, 1), shape)).array();
  const session = await ort.InferenceSession.create(exportOnnx(model, { inputShape: [1, 1, 5, 5] }));
  const { output } = await session.run({ input: new ort.Tensor('float32', fill(shape, 2), shape) });
  const expected = (await model
    .eval()
    .forward(tensor(fill(shape, 2), shape))
    .array()) as Float32Array;
  expectClose('output', output.data as Float32Array, expected, 1e-6);
});
