import { expect, test } from 'vitest';
import { launchManyTensors, tensorsOfLaunch } from '../../../../src/executor/cuda/kernels/many-tensors.ts';
import { createNode } from '../../../../src/graph/node.ts';
import { tensor } from '../../../../src/index.ts';
import { fill } from '../../../support/fill.ts';
import { onGpu } from './harness.ts';

test('a step of SGD with momentum over 300 tensors has few launches, and the bits of each element', async () => {
  const counts = Array.from({ length: 300 }, (_, k) => (k === 7 ? 9000 : k % 9 === 0 ? 2048 : (k * k) % 71));
  const value = (count: number, seed: number) => tensor(fill([count], seed), [count]).value;
  const full = counts.filter((count) => count > 0);
  const [parameters, gradients, momenta] = [0, 1, 2].map((k) =>
    full.map((count, seed) => value(count, 3 * seed + k)),
  );
  const rate = tensor(Float32Array.of(0.1), []).value;
  const inputs = [rate, ...parameters, ...gradients, ...momenta];
  const node = createNode('Elementwise', inputs, { instructions: [], results: [] }, [
    ...parameters,
    ...momenta,
  ]);
  let launches = 0;
  const found = await onGpu(node, (_, lowering) => {
    const counted = { ...lowering };
    counted.launch = (...args) => {
      launches += 1;
      lowering.launch(...args);
    };
    launchManyTensors(counted, {
      name: 'momentum',
      arrays: ['const float', 'const float', 'const float', 'const float', 'float', 'float'],
      body: 'const float m = 0.5f * a3[i] + a2[i];\n    a5[i] = m;\n    a4[i] = a1[i] - *a0 * m;',
      tensors: full.map((count, k) => ({
        count,
        at: [
          ...[rate, parameters[k], gradients[k], momenta[k]],
          ...[node.outputs[k], node.outputs[full.length + k]],
        ].map((one) => lowering.at(one)),
      })),
    });
  });
  expect(launches).toBe(Math.ceil(full.length / tensorsOfLaunch(6)));
  expect(launches).toBeLessThan(6);
  const one = Math.fround(0.1);
  for (const [k, count] of full.entries()) {
    const [p, g, m] = [0, 1, 2].map((part) => fill([count], 3 * k + part));
    const next = m.map((momentum, i) => 0.5 * momentum + g[i]);
    expect(found[full.length + k]).toEqual(next);
    expect(found[k]).toEqual(p.map((parameter, i) => parameter - Math.fround(one * next[i])));
  }
});
