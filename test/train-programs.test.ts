// Whole programs with the Trainer of @ringrun/train, on two ranks.
import { expect, test } from 'vitest';
import { builtScript } from './support/built-script.ts';
import { launch } from './support/command.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

/** What a program prints at its end. */
async function run<Result>(name: string): Promise<Result & { readonly identical: unknown }> {
  const script = builtScript(`train-programs/${name}.script`);
  const env = { OMP_NUM_THREADS: 1, RINGRUN_TRANSPORT: 'shm' };
  const { code, stdout, stderr } = await launch(['--nproc', '2', script, temporaryFolder()], { env }).ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const found = JSON.parse(stdout.slice(stdout.indexOf('{'))) as Result & { readonly identical: unknown };
  expect(found.identical).toMatch(/^[0-9a-f]{64}$/);
  return found;
}

test('a variational autoencoder reconstructs points that it has not seen', async () => {
  const { losses } = await run<{ losses: [before: number, after: number] }>('vae');
  expect(losses[1]).toBeLessThan(losses[0] / 4);
});

test('a GAN generates points around its examples', async () => {
  const { distances } = await run<{ distances: number[] }>('gan');
  expect(distances[0]).toBeGreaterThan(1.5);
  expect(distances.at(-1)).toBeLessThan(0.3);
});

test('a regression ends early, and its best model is loaded', async () => {
  const { score, epochs, stoppedEarly, isBest } = await run<{
    score: number;
    epochs: number;
    stoppedEarly: boolean;
    isBest: boolean;
  }>('tabular');
  expect({ stoppedEarly, isBest }).toEqual({ stoppedEarly: true, isBest: true });
  expect(epochs).toBeLessThan(200);
  expect(score).toBeGreaterThan(0.95);
});
