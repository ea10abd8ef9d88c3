import { expect, test } from 'vitest';
import type { DistributedModule, DistributedParameter } from '@ringrun/core';
import { requireMovable } from '../../src/ddp/shared-parameters.ts';

const weight: DistributedParameter = {
  shape: [1],
  data: new Float32Array(1),
  grad: undefined,
  gradientSink: undefined,
  replaceData: () => undefined,
  gradientWritten: () => undefined,
};

const on = (computesOn?: string): DistributedModule => ({
  namedParameters: () => [['weight', weight]],
  namedBuffers: () => [],
  ...(computesOn !== undefined && { computesOn }),
});

test('a model on a GPU is refused, because the ranks share memory of the host', () => {
  const wrap = (computesOn?: string) => () => {
    requireMovable(on(computesOn));
  };
  expect(wrap()).not.toThrow();
  expect(wrap('cpu')).not.toThrow();
  expect(wrap('cuda:1')).toThrow(
    "shareParameters: expected a model that computes on the CPU, got one on cuda:1: ranks share memory of the host only. Leave shareParameters out, or move the model with model.to('cpu').",
  );
});
