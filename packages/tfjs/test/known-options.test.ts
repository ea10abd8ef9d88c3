import { expect, test } from 'vitest';
import * as tfjs from '../src/index.ts';

const optimizer = { minimize: () => 0, computeGradients: () => 0, applyGradients: () => 0, learningRate: 1 };

type Callee = (...inputs: unknown[]) => unknown;
const call =
  (callee: unknown, ...inputs: unknown[]) =>
  async () =>
    await (callee as Callee)(...inputs);

test.each([
  [
    call(tfjs.distribute, optimizer, { bucket_cap_mb: 1 }),
    'distribute: bucket_cap_mb is not an option. Did you mean bucketCapMb?',
  ],
  [
    call(tfjs.broadcastVariables, [], 1),
    'broadcastVariables: expected an object of options, got 1. Write it by name, as in { src: 1 }.',
  ],
  [call(tfjs.broadcastOptimizer, optimizer, 1), 'as in { src: 1 }'],
  [call(tfjs.learningRateScaling, optimizer, 2), 'as in { factor: 2 }'],
  [call(tfjs.modelCheckpoint, {}, '/tmp', 2), 'as in { every: 2 }'],
  [
    call(tfjs.averageMetrics, { group: 1 }),
    'averageMetrics: group is not an option. Its options are processGroup.',
  ],
  [call(() => [...tfjs.sampledBatches({}, { batch_size: 1 } as never)]), 'Did you mean batchSize?'],
  [call(tfjs.shard, {}, 2), 'as in { numReplicas: 2 }'],
] as [act: () => Promise<unknown>, message: string][])('%#', async (act, message) => {
  await expect(act()).rejects.toMatchObject({
    code: 'ERR_ARGUMENT',
    message: expect.stringContaining(message) as unknown,
  });
});
