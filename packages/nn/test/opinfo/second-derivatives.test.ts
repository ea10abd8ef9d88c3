import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import '../support/one-thread.ts';
import { names } from './names.ts';
import { secondOutcomeOf } from './outcome.ts';
import { Samples, samplesProblem } from './samples.ts';

// Second derivatives of torch's own samples of its operations and modules equal torch's.

/** All samples (`npm run test:opinfo`), or one of each kind, of operations that differ from the others. */
const isFull = process.env['RINGRUN_OPINFO'] === 'full';

const some =
  /^(op (nn.functional.(gelu|layer_norm|cross_entropy|embedding_bag|conv2d|max_pool2d|binary_cross_entropy)|var|xlogy|logsumexp)|module (LSTM|GRU|BatchNorm2d|MultiheadAttention))$/;

const differentiable = names.filter((name) => !name.startsWith('optimizer') && (isFull || some.test(name)));

describe.skipIf(samplesProblem() !== undefined)("torch's samples", () => {
  let samples: Samples;

  beforeAll(() => {
    samples = new Samples(differentiable, isFull ? undefined : 1, 'second');
  }, 600_000);

  afterAll(() => {
    samples.remove();
  });

  test.each(differentiable)(
    '%s: second derivatives equal those of torch',
    async (name) => {
      const differences: string[] = [];
      for await (const sample of samples.of(name)) {
        const outcome = await secondOutcomeOf(sample);
        if (outcome.kind === 'different') differences.push(`${sample.variant}: ${outcome.how}`);
      }
      expect(differences).toEqual([]);
    },
    600_000,
  );
});
