import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { describe, expect, test } from 'vitest';
import { openStorage } from '../packages/runtime/src/storage/index.ts';
import { startS3, useS3 } from '../packages/runtime/test/support/s3.ts';
import { loadMnist } from '../packages/runtime/src/data/datasets/mnist/load-mnist.ts';
import type { Trace } from '../packages/runtime/src/profiler/trace.ts';
import { launch } from './support/command.ts';
import type { CommandOptions, Ended } from './support/command.ts';
import { compiledExample } from './support/compiled-example.ts';
import { repository } from './support/environment.ts';
import { isFull, ways } from './support/extent.ts';
import { largestDifference } from './support/largest-difference.ts';
import { syntheticMnist } from './support/synthetic-mnist.ts';
import { temporaryFolder } from './support/temporary-folder.ts';
import { withoutWaiting } from './support/without-waiting.ts';

const typescript = 'packages/examples-mnist/train.ts';
const compiled = compiledExample('examples-mnist');
const images = { train: 1600, test: 500 };
const data = syntheticMnist(images);
const overTcp = { env: { RINGRUN_TRANSPORT: 'tcp' } };

async function train(
  worldSize: number,
  args: string[],
  options: CommandOptions = {},
  script = compiled,
): Promise<Ended> {
  const command = launch(['--nproc', String(worldSize), script, ...args], options);
  const ended = withoutWaiting(await command.ended);
  expect(ended).toMatchObject({ code: 0, stderr: '', timedOut: false, left: [] });
  return ended;
}

/** The digest that is printed as common to all `worldSize` ranks. */
function digestOf({ stdout }: Ended, worldSize: number): string {
  const line = new RegExp(`^parameters identical on ${counted(worldSize)}: ([0-9a-f]{64})$`, 'm');
  expect(stdout).toMatch(line);
  return line.exec(stdout)![1];
}

const counted = (ranks: number) => (ranks === 1 ? '1 rank' : `${ranks} ranks`);

let plain: Promise<Ended> | undefined;
/** The reference run of two ranks. Runs once, in the first test that needs it. */
const plainTraining = () => (plain ??= train(2, ['--data', data, '--log-interval', '5'], {}, typescript));

/** The values at the end of the last epoch. */
function accuracyOf({ stdout }: Ended): number {
  const printed = [...stdout.matchAll(/^accuracy=(\d\.\d{4})\tloss=\d+\.\d{4}$/gm)];
  return Number(printed.at(-1)?.[1]);
}

describe.each(ways([2], [1, 3, 4]))('%d processes', (worldSize) => {
  test('end with identical parameters, and print the lines of the Kubeflow example', async () => {
    const ended = await (worldSize === 2
      ? plainTraining()
      : train(worldSize, ['--data', data, '--log-interval', '5']));
    const lines = ended.stdout.split('\n');
    const steps = Math.ceil(images.train / worldSize / 64);
    const logged = Array.from({ length: Math.ceil(steps / 5) }, (_, i) => 5 * i);
    const progress = lines.filter((line) => line.startsWith('Train Epoch: '));
    expect(progress.map((line) => line.replace(/\d+\.\d{4}$/, 'LOSS'))).toEqual(
      logged.map((step) => {
        const percent = Math.round((100 * step) / steps);
        return `Train Epoch: 1 [${step * 64 * worldSize}/${images.train} (${percent}%)]\tloss=LOSS`;
      }),
    );
    // Every rank begins near the loss of guessing, ln 10.
    expect(Number(/loss=(.*)$/.exec(progress[0])![1])).toBeCloseTo(Math.log(10), 0);
    expect(lines.slice(progress.length)).toEqual([
      '',
      expect.stringMatching(/^accuracy=[01]\.\d{4}\tloss=\d+\.\d{4}$/),
      '',
      expect.stringMatching(
        new RegExp(String.raw`^[1-9]\d* images/s on ${counted(worldSize)} \(\d+\.\d\d s of training\)$`),
      ),
      ...tableOf(worldSize),
      `parameters identical on ${counted(worldSize)}: ${digestOf(ended, worldSize)}`,
      `accuracy ${/^accuracy=([01]\.\d{4})\t/m.exec(ended.stdout)![1]} on ${data}`,
      '',
    ]);
  });
});

/** Heading and a row per rank; with several ranks also a row for all and the slowest rank. */
function tableOf(worldSize: number): unknown[] {
  const row = (name: string) =>
    expect.stringMatching(new RegExp(`^ +${name} +\\d+\\.\\d\\d s +\\d+( +\\d+\\.\\d%){3}$`)) as unknown;
  return [
    expect.stringMatching(/^rank +time +images\/s +input +compute +waiting$/) as unknown,
    ...Array.from({ length: worldSize }, (_, rank) => row(String(rank))),
    ...(worldSize > 1
      ? [row('all'), expect.stringMatching(/rank \d.* waited .*\d s on average$/) as unknown]
      : []),
  ];
}

test('--dir, --histograms, --profile, --save-model and TCP write files and keep the parameters', async () => {
  const folder = temporaryFolder();
  const [dir, trace] = [join(folder, 'logs'), join(folder, 'trace.json')];
  // The sum of two numbers does not depend on the order of a transport.
  const model = join(folder, 'models', 'mnist.onnx');
  const args = ['--data', data, '--dir', dir, '--histograms', '--profile', trace, '--save-model', model];
  const ended = await train(2, args, overTcp);
  expect(digestOf(ended, 2)).toBe(digestOf(await plainTraining(), 2));
  expect((await InferenceSession.create(model)).outputNames).toEqual(['output']);
  const files = readdirSync(dir);
  expect(files).toEqual([expect.stringMatching(/^events\.out\.tfevents\./)]);
  const events = readFileSync(join(dir, files[0]), 'latin1');
  for (const tag of ['train/loss', 'test/accuracy', 'gradients/conv1.weight']) expect(events).toContain(tag);
  const { traceEvents } = JSON.parse(readFileSync(trace, 'utf8')) as Trace;
  for (const rank of [0, 1]) {
    for (const lane of ['step', 'input', 'compute', 'waiting', 'communication']) {
      const found = traceEvents.filter(
        (event) => event.ph === 'X' && event.pid === rank && event.cat === lane,
      );
      // 1600 images are 13 steps of each rank; the first 5 are not counted.
      expect(found.length, `rank ${rank}, ${lane}`).toBeGreaterThanOrEqual(8);
    }
  }
});

test.runIf(isFull)('a different seed produces different parameters', async () => {
  const otherSeed = await train(2, ['--data', data, '--seed', '2']);
  expect(digestOf(otherSeed, 2)).not.toBe(digestOf(await plainTraining(), 2));
});

test.runIf(isFull)(
  'three ranks over TCP are bit-identical, in every run',
  async () => {
    const runs = [];
    for (let i = 0; i < 2; i += 1) runs.push(await train(3, ['--data', data], overTcp));
    expect(digestOf(runs[1], 3)).toBe(digestOf(runs[0], 3));
  },
  120_000,
);

test('--save-model s3://…: onnxruntime runs it at any batch size with the printed accuracy', async () => {
  useS3((await startS3('models')).port);
  const file = 's3://models/mnist/cnn.onnx';
  // Kubeflow's manifests pass --no-cuda.
  const ended = await train(2, [
    ...['--data', data, '--lr', '0.05', '--epochs', '3'],
    ...['--no-cuda', '--save-model', file],
  ]);
  expect(ended.stdout).toContain(`model saved to ${file}\n`);
  expect(accuracyOf(ended)).toBeGreaterThan(0.8);

  const session = await InferenceSession.create(await openStorage('s3://models/mnist').read('cnn.onnx'));
  const inSevens = await classify(session, 7);
  const right = inSevens.filter(({ guess, label }) => guess === label).length;
  expect((right / images.test).toFixed(4)).toBe(accuracyOf(ended).toFixed(4));
  const oneByOne = await classify(session, 1);
  const scores = [oneByOne, inSevens].map((results) => results.map(({ score }) => score));
  expect(largestDifference(scores[0], scores[1])).toBeLessThan(1e-4);
});

interface Classified {
  label: number;
  guess: number;
  /** Log-probability of the predicted class. */
  score: number;
}

/** Predictions of the model for the test images, `batchSize` at a time. */
async function classify(session: InferenceSession, batchSize: number): Promise<Classified[]> {
  const dataset = await loadMnist({ split: 'test', location: data });
  const classified: Classified[] = [];
  for (let start = 0; start < dataset.length; start += batchSize) {
    const samples = Array.from({ length: Math.min(batchSize, dataset.length - start) }, (_, i) =>
      dataset.at(start + i),
    );
    const pixels = Float32Array.from(samples.flatMap(({ image }) => [...image.data]));
    const input = new Tensor('float32', pixels, [samples.length, 1, 28, 28]);
    const { output } = await session.run({ input });
    for (const [i, { label }] of samples.entries()) {
      const scores = [...(output.data as Float32Array).subarray(10 * i, 10 * i + 10)];
      const score = Math.max(...scores);
      classified.push({ label: Number(label), guess: scores.indexOf(score), score });
    }
  }
  return classified;
}

const realMnist = join(repository, '../shared/data/mnist');

const problem = existsSync(realMnist) ? '' : `: skipped, no ${realMnist}`;

test.skipIf(problem !== '')(
  `one epoch of the real MNIST on two processes: accuracy of 0.950 or more${problem}`,
  async () => {
    const ended = await train(2, ['--data', realMnist], { limitMs: 150_000 });
    expect(accuracyOf(ended)).toBeGreaterThanOrEqual(0.95);
    expect(ended.stdout).toMatch(/^Train Epoch: 1 \[58880\/60000 \(98%\)\]\tloss=0\.\d{4}$/m);
    digestOf(ended, 2);
  },
  160_000,
);

test.runIf(isFull && problem === '').each([
  ['pytorchjob-gloo.yaml', 6],
  ['trainjob.yaml', 4],
  ['pytorchjob-elastic.yaml', 6],
])(
  `the arguments of %s reach 0.95 on %i ranks${problem}`,
  async (manifest, ranks) => {
    const text = readFileSync(join(repository, 'deploy/manifests', manifest), 'utf8');
    const [, list] = /args:\n\s+- \S+examples-mnist\/train\.ts\n((?:\s+(?:- --|# ).*\n)+)/.exec(text)!;
    const given = [...list.matchAll(/- (--\S+)/g)].map(([, option]) => option);
    const volume = temporaryFolder();
    const options = given.map((option) => option.replace('/volume', volume));
    const ended = await train(ranks, ['--data', realMnist, ...options], { limitMs: 600_000 });
    expect(options.some((option) => option.startsWith('--output='))).toBe(true);
    expect(accuracyOf(ended)).toBeGreaterThanOrEqual(0.95);
  },
  660_000,
);
