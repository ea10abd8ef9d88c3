import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { SummaryWriter } from '../../packages/runtime/src/tensorboard/index.ts';
import { browserProblem, openPage } from '../support/browser.ts';
import { launch } from '../support/command.ts';
import { compiledExample } from '../support/compiled-example.ts';
import { freePort } from '../support/free-port.ts';
import { start } from '../support/start.ts';
import { syntheticMnist } from '../support/synthetic-mnist.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { packageProblem, python } from './python.ts';
import { keepPicture } from './pictures.ts';

const problem = packageProblem('tensorboard');

/** More than TensorBoard's default samples of scalars. */
const steps = 2500;
const lossAt = (step: number) => Math.fround(Math.exp(-step / 500));
const gradientsAt = (step: number) => Float32Array.from({ length: 100 }, (_, i) => (i - 40) / (1 + step));
const noteAt = (step: number) => `step ${step}: größer — **bold**`;

/** Starts TensorBoard on a folder. Resolves with its URL when it has read `run`. */
async function serve(logs: string, run: string): Promise<string> {
  const port = await freePort();
  // The default is a random sample.
  const everything = ['--samples_per_plugin', 'scalars=10000,histograms=10000,text=10000'];
  const where = ['--logdir', logs, '--host', '127.0.0.1', '--port', String(port)];
  const server = start(python, ['-m', 'tensorboard.main', ...where, ...everything]);
  await server.sees(/TensorBoard \S+ at http/);
  const url = `http://127.0.0.1:${port}/`;
  await expect.poll(() => fetched<string[]>(`${url}data/runs`), { timeout: 20_000 }).toContain(run);
  return url;
}

async function fetched<Value>(url: string): Promise<Value> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  return (await response.json()) as Value;
}

/** Waits until TensorBoard, which reads in the background, has as many values of a tag as were written. */
async function valuesOf<Value>(url: string, plugin: string, tag: string, count: number): Promise<Value[]> {
  const query = new URLSearchParams({ run: 'written', tag });
  const get = () =>
    fetched<Value[]>(`${url}data/plugin/${plugin}/${plugin}?${String(query)}`).catch(() => []);
  await expect.poll(async () => (await get()).length, { timeout: 20_000 }).toBe(count);
  return get();
}

describe.skipIf(problem)(`TensorBoard${problem ? `: skipped, ${problem}` : ''}`, () => {
  test('serves every scalar, histogram and text that was written', async () => {
    const logs = temporaryFolder();
    const writer = new SummaryWriter({ logDir: join(logs, 'written') });
    const numbers = Array.from({ length: steps }, (_, step) => step);
    const some = numbers.filter((step) => step % 50 === 0);
    for (const step of numbers) writer.addScalar('train/loss', lossAt(step), step);
    for (const step of some) {
      writer.addHistogram('gradients/weight', gradientsAt(step), step);
      writer.addText('note', noteAt(step), step);
    }
    await writer.close();

    const url = await serve(logs, 'written');
    const scalars = await valuesOf<[number, number, number]>(url, 'scalars', 'train/loss', steps);
    expect(scalars.map(([, step, value]) => [step, value])).toEqual(
      numbers.map((step) => [step, lossAt(step)]),
    );
    const histograms = await valuesOf<[number, number, [number, number, number][]]>(
      ...([url, 'histograms', 'gradients/weight', some.length] as const),
    );
    expect(histograms.map(([, step]) => step)).toEqual(some);
    for (const [, step, buckets] of histograms) {
      const gradients = gradientsAt(step);
      for (const [left, right, count] of buckets) {
        // The last bucket ends at the maximum, inclusive.
        const isLast = right === Math.max(...gradients);
        const isInside = (value: number) => value >= left && (value < right || (isLast && value === right));
        expect(count).toBe(gradients.filter(isInside).length);
      }
      expect(buckets.reduce((sum, [, , count]) => sum + count, 0)).toBe(gradients.length);
    }
    const texts = await valuesOf<{ step: number; text: string }>(
      ...([url, 'text', 'note/text_summary', some.length] as const),
    );
    expect(texts.map(({ step, text }) => [step, text])).toEqual(
      some.map((step) => [step, `<p>step ${step}: größer — <strong>bold</strong></p>`]),
    );
  });

  const noPicture = browserProblem;
  test.skipIf(noPicture)(
    `shows a training in Chromium${noPicture ? `: skipped, ${noPicture}` : ''}`,
    async () => {
      const [logs, data] = [temporaryFolder(), syntheticMnist({ train: 2560, test: 200 })];
      const dir = join(logs, 'mnist');
      const example = compiledExample('examples-mnist');
      const options = ['--data', data, '--dir', dir, '--histograms', '--epochs', '2'];
      const { code, stdout } = await launch(['--nproc', '2', example, ...options]).ended;
      expect(code).toBe(0);
      const accuracy = /^accuracy ([\d.]+) on/m.exec(stdout)![1];

      const url = await serve(logs, 'mnist');
      const page = await openPage();
      await page.goto(`${url}#scalars&tagFilter=test%2Faccuracy`);
      await page.getByText('test/accuracy').first().waitFor();
      const query = new URLSearchParams({ run: 'mnist', tag: 'test/accuracy' });
      const points = await fetched<[number, number, number][]>(
        `${url}data/plugin/scalars/scalars?${String(query)}`,
      );
      expect(points.at(-1)![2].toFixed(4)).toBe(accuracy);
      await page.goto(`${url}#timeseries`);
      for (const tag of ['epoch/images_per_second', 'gradients/conv1.weight']) {
        await page.locator('card-view').filter({ hasText: tag }).locator('svg').first().waitFor();
      }
      await keepPicture(page, 'tensorboard');
    },
  );
});
