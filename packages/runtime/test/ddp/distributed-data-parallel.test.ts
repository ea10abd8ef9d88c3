import { InvalidArgumentError } from '@ringrun/core';
import type { DistributedParameter, GradientSink, ProcessGroup } from '@ringrun/core';
import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { DistributedDataParallel } from '../../src/ddp/distributed-data-parallel.ts';

class Scale implements DistributedParameter {
  readonly shape = [2];
  readonly data = new Float32Array(2);
  readonly grad = undefined;
  gradientSink: GradientSink | undefined = undefined;

  gradientWritten(): void {
    // No backward pass runs.
  }
}

class Model {
  readonly weight = new Scale();
  readonly bias = new Scale();

  namedParameters(): [string, Scale][] {
    return [
      ['weight', this.weight],
      ['bias', this.bias],
    ];
  }

  namedBuffers(): [] {
    return [];
  }

  forward(): void {
    // Not called.
  }
}

class ModelWithModes extends Model {
  training = true;

  train(mode = true): this {
    this.training = mode;
    return this;
  }
}

/** A group of one rank. */
const group = {
  rank: 0,
  size: 1,
  transport: 'shm',
  allGatherObjectSync: (object: unknown) => [object],
  broadcastSync: () => undefined,
  allocateSync: (_: string, length: number) => new Float32Array(length),
} as unknown as ProcessGroup;

test('prints its module as torch does', () => {
  class Written extends Model {
    override toString() {
      return 'Written(\n  (layer): Linear()\n)';
    }
  }
  const written = new DistributedDataParallel(new Written(), { processGroup: group });
  const expected = `DistributedDataParallel(
  (module): Written(
    (layer): Linear()
  )
)`;
  expect(String(written)).toBe(expected);
  expect(inspect(written)).toBe(expected);
  const other = new DistributedDataParallel(new Model(), { processGroup: group });
  expect(String(other)).toBe('DistributedDataParallel(\n  (module): Model()\n)');
});

test('parameters() yields the parameters of the model in order of definition', () => {
  const model = new Model();
  const ddp = new DistributedDataParallel(model, { processGroup: group });
  const parameters: Scale[] = [...ddp.parameters()];
  expect(parameters).toEqual([model.weight, model.bias]);
});

test('train() and eval() switch the mode of the model and return the wrapper', () => {
  const model = new ModelWithModes();
  const ddp = new DistributedDataParallel(model, { processGroup: group });
  expect(ddp.training).toBe(true);
  expect(ddp.eval()).toBe(ddp);
  expect([model.training, ddp.training]).toEqual([false, false]);
  expect(ddp.train()).toBe(ddp);
  expect([model.training, ddp.training]).toEqual([true, true]);
  ddp.train(false);
  expect(model.training).toBe(false);
});

test('a model without modes is in training mode and rejects train() and eval()', () => {
  const ddp = new DistributedDataParallel(new Model(), { processGroup: group });
  expect(ddp.training).toBe(true);
  expect(() => ddp.train()).toThrow(InvalidArgumentError);
  expect(() => ddp.eval()).toThrow(
    'DistributedDataParallel.eval: expected a model with a method train(mode)',
  );
});

test('frozen parameters have no space in the buckets, and cannot receive gradients later', () => {
  const lengths: number[] = [];
  const recorded = {
    ...group,
    allocateSync: (_: string, length: number) => {
      lengths.push(length);
      return new Float32Array(length);
    },
  } as unknown as ProcessGroup;
  const model = new Model();
  Object.assign(model.bias, { requiresGrad: false });
  new DistributedDataParallel(model, { processGroup: recorded });
  // Two elements, a number for the parameter, and one for the rank.
  expect(lengths).toEqual([2 + 1 + 1]);
  const sink: GradientSink = model.weight.gradientSink!;
  expect(sink.arrayOf(model.weight)).toHaveLength(2);
  const refused: unknown = expect.objectContaining({ code: 'ERR_NOT_WRAPPED' });
  expect(() => sink.beginPass([model.weight, model.bias])).toThrow(refused);
  expect(() => sink.arrayOf(model.bias)).toThrow('Wrap the model again after unfreezing');
});

test('rejects a model whose parameters are all frozen', () => {
  const model = new Model();
  for (const [, parameter] of model.namedParameters()) Object.assign(parameter, { requiresGrad: false });
  expect(() => new DistributedDataParallel(model, { processGroup: group })).toThrow(
    'expected a model with at least one parameter that is trained, got 2 frozen ones.',
  );
});
