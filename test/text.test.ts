import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { launch } from './support/command.ts';
import { compiledExample } from './support/compiled-example.ts';
import { isFull, ways } from './support/extent.ts';
import { withoutWaiting } from './support/without-waiting.ts';

const shared = fileURLToPath(new URL('../../shared/data/text/ag-news-7600.csv.gz', import.meta.url));

const typescript = 'packages/examples-text/train.ts';
const compiled = compiledExample('examples-text');

async function train(script: string, args: readonly string[], limitMs = 50_000): Promise<string> {
  const { stdout, ...ended } = withoutWaiting(
    await launch(['--nproc', '2', script, ...args], { limitMs }).ended,
  );
  expect(ended).toMatchObject({ code: 0, stderr: '', timedOut: false, left: [] });
  expect(stdout).toMatch(/^\d+ tokens\/s on \d ranks? \(\d+\.\d\d s of training\)$/m);
  return stdout;
}

const accuracyOf = (stdout: string) =>
  Number(/^accuracy (\d\.\d{4}) on \d+ texts that were held back$/m.exec(stdout)?.[1]);
const digestOf = (stdout: string) => /^parameters identical on \d ranks?: ([0-9a-f]{64})$/m.exec(stdout)?.[1];

describe('the example learns synthetic texts on two ranks', () => {
  test.each(ways([['bag', '3', typescript]], [['transformer', '1', compiled]]))(
    'with the model %s',
    async (model, epochs, script) => {
      const output = await train(script, ['--synthetic', '--model', model, '--epochs', epochs]);
      // Guessing has an accuracy of 0.25.
      expect(accuracyOf(output)).toBeGreaterThan(0.9);
      expect(digestOf(output)).toBeDefined();
    },
  );
});

/** Accuracies of the same models in PyTorch 2.15, trained on the same batches: `npm run bench:text`. */
const accuracies = { bag: 0.8711, transformer: 0.8592 };

/** Time limit of a whole training on a busy machine. */
const longestMs = 300_000;

test.skipIf(!isFull || !existsSync(shared)).each(Object.entries(accuracies))(
  'the accuracy of the model %s on AG News equals that of PyTorch within 0.01',
  async (model, accuracy) => {
    const output = await train(compiled, ['--data', shared, '--model', model], longestMs);
    expect(Math.abs(accuracyOf(output) - accuracy)).toBeLessThan(0.01);
  },
  longestMs,
);
