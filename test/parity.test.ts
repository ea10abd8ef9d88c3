import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { builtScript } from './support/built-script.ts';
import { launch } from './support/command.ts';
import { ways } from './support/extent.ts';
import { temporaryFolder } from './support/temporary-folder.ts';
import { withoutWaiting } from './support/without-waiting.ts';

type Losses = Record<string, Record<string, number[][]>>;
const golden = JSON.parse(readFileSync(new URL('golden/ddp_losses.json', import.meta.url), 'utf8')) as Losses;

describe('the losses of 50 steps on two ranks equal those of PyTorch DDP', () => {
  const folder = temporaryFolder();
  // Every optimizer and both models, but not all pairs, because the two are independent.
  const trainings = ways(
    ['mnist/SGD', 'mnist/Adam', 'mnist/AdamW', 'cifar/SGD'],
    ['cifar/Adam', 'cifar/AdamW'],
  );
  test('decrease', async () => {
    const { ended } = launch(['--nproc', '2', builtScript('parity.script'), folder, ...trainings]);
    expect(withoutWaiting(await ended)).toMatchObject({ code: 0, stderr: '', timedOut: false, left: [] });
  });

  test.each(trainings)('%s', (training) => {
    const [model, optimizer] = training.split('/');
    for (const [rank, losses] of golden[model][optimizer].entries()) {
      const report = JSON.parse(readFileSync(join(folder, `${rank}.json`), 'utf8')) as Record<
        string,
        number[]
      >;
      const found = report[training];
      expect(found).toHaveLength(losses.length);
      const worst = Math.max(...losses.map((loss, step) => Math.abs(found[step] - loss) / loss));
      expect(worst, `rank ${rank}`).toBeLessThan(1e-4);
      // Checks that they trained: without training, the losses would agree as well.
      expect(losses.at(-1)!).toBeLessThan(losses[0]);
    }
  });
});
