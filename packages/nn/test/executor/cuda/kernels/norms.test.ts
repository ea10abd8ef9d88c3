import { expect, test } from 'vitest';
import { classLosses } from '../../../../src/executor/cuda/kernels/class-loss.ts';
import { norms } from '../../../../src/executor/cuda/kernels/norms.ts';
import { createNode, createValue, type Node } from '../../../../src/graph/node.ts';
import { tensor } from '../../../../src/index.ts';
import { clipNorm } from '../../../../src/ops/own/clip-norm.ts';
import { concat, reshape } from '../../../../src/ops/shape.ts';
import { logSoftmax, negativeLogLikelihood } from '../../../../src/ops/softmax.ts';
import { fill, fillClasses } from '../../../support/fill.ts';
import { expectAsOnCpu, onGpu } from './harness.ts';

const value = (shape: readonly number[], seed: number) => tensor(fill(shape, seed), shape).value;
const scalar = (number: number) => tensor(Float32Array.of(number), []).value;
const arrays = [value([5], 1), value([3, 7], 2), value([70_000], 3), value([1], 4)];
const many = Array.from({ length: 200 }, (_, seed) => value([seed % 9], seed));

function clipping(of: typeof arrays, largest: number, normType: number, requiresFinite = false) {
  return clipNorm(of, scalar(largest), { normType, requiresFinite }).norm.node as Node<'ClipNorm'>;
}

test.each([1, 2, 3.5, Infinity])('the norm of arrays together agrees with the CPU, p = %d', async (p) => {
  await expectAsOnCpu(clipping(arrays, 0.5, p), norms.ClipNorm);
  await expectAsOnCpu(clipping(many, 1e6, p), norms.ClipNorm);
});

test.each([NaN, Infinity])('the norm with %d', async (one) => {
  const wrong = tensor(Float32Array.of(1, one, 2), [3]).value;
  for (const p of [1, 2, Infinity]) {
    await expectAsOnCpu(clipping([...arrays, wrong], 0.5, p), norms.ClipNorm);
    await expect(onGpu(clipping([wrong], 0.5, p, true), norms.ClipNorm)).rejects.toThrow(
      `expected a finite norm, got ${Number.isNaN(one) ? 'nan' : 'inf'}`,
    );
  }
});

test('parts of arrays that are divided among ranks', async () => {
  const type = { dtype: 'float32', shape: [2 * 9] } as const;
  const ofRank = (own: typeof arrays, parts: readonly number[]) =>
    createValue('NormParts', own, { normType: 2, parts, total: 9 }, type);
  const ranks = [ofRank([arrays[2], arrays[0]], [4, 1]), ofRank([arrays[1], arrays[3]], [0, 8])];
  for (const part of ranks) await expectAsOnCpu(part.node as Node<'NormParts'>, norms.NormParts);
  const gathered = concat(
    ranks.map((part) => reshape(part, [1, 18])),
    0,
  );
  const numbers = { dtype: 'float32', shape: [] } as const;
  const attributes = { normType: 2, requiresFinite: false };
  const node = createNode('ClipNormOfParts', [scalar(0.5), gathered], attributes, [numbers, numbers]);
  await expectAsOnCpu(node, norms.ClipNormOfParts);
});

test.each([1, 6, 300])('negative log-likelihood of %i rows agrees with the CPU', async (rows) => {
  const labels = fillClasses(rows, 5, 1);
  labels[0] = -100n;
  const x = logSoftmax(value([rows, 5], 1), 1);
  const node = negativeLogLikelihood(x, tensor(labels).value, -100).node as Node<'NegativeLogLikelihoodLoss'>;
  await expectAsOnCpu(node, classLosses.NegativeLogLikelihoodLoss);
});
