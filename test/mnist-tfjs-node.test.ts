import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { builtScript } from './support/built-script.ts';
import { launch } from './support/command.ts';
import { repository } from './support/environment.ts';
import { largestDifference } from './support/largest-difference.ts';
import { Scenarios } from './support/scenarios.ts';
import { syntheticMnist } from './support/synthetic-mnist.ts';
import { temporaryFolder } from './support/temporary-folder.ts';
import { withoutWaiting } from './support/without-waiting.ts';

/** Why a native package of TensorFlow.js cannot be imported; undefined if it can. */
function problemOf(name: string, build: string): string | undefined {
  try {
    createRequire(join(repository, 'package.json')).resolve(name);
    return undefined;
  } catch {
    return `${name} is not built (${build})`;
  }
}

const problem = problemOf('@tensorflow/tfjs-node', 'node scripts/build-tfjs-node.js');
const data = syntheticMnist({ train: 1920, test: 200 });
// libtensorflow logs warnings and errors only.
const quiet = { TF_CPP_MIN_LOG_LEVEL: 1 };

describe.skipIf(problem)(`tfjs-node${problem ? `: skipped, ${problem}` : ''}`, () => {
  test('on two ranks × batch 32 trains MNIST to the weights of one process × batch 64', async () => {
    const scenarios = new Scenarios(builtScript('mnist-tfjs-node.script'), temporaryFolder());
    const env = { ...quiet, MNIST: data };
    const options = { env };
    const [zero, one] = await scenarios.run<Trained>(2, 'distributed', options);
    const alone = await scenarios.runAlone<Trained>('alone', options);
    const untrained = await scenarios.runAlone<number[]>('untrained', options);
    for (const { backend } of [zero, one, alone]) expect(backend).toBe('tensorflow');
    expect(one.weights).toEqual(zero.weights);
    // The sums of 64 gradients in a different order; the weights changed by more than 1,000 times as much.
    expect(largestDifference(zero.weights, alone.weights)).toBeLessThan(1e-6);
    expect(largestDifference(alone.weights, untrained)).toBeGreaterThan(1e-2);
  });

  test('trains the example on two ranks, without the hint to install it', async () => {
    const example = ['packages/examples-mnist-tfjs/train.ts', '--tf', '@tensorflow/tfjs-node'];
    const options = ['--data', data, '--epochs', '4', '--lr', '0.05'];
    const command = launch(['--nproc', '2', ...example, ...options], { env: quiet });
    const { stdout, ...ended } = withoutWaiting(await command.ended);
    expect(ended).toMatchObject({ code: 0, stderr: '', timedOut: false, left: [] });
    expect(stdout).toMatch(/^parameters identical on 2 ranks: [0-9a-f]{64}$/m);
    expect(Number(/^accuracy ([\d.]+) on/m.exec(stdout)![1])).toBeGreaterThan(0.8);
  });
});

const gpuProblem = existsSync('/dev/nvidiactl')
  ? 'this machine has a GPU'
  : problemOf('@tensorflow/tfjs-node-gpu', 'node scripts/build-tfjs-node.js --gpu');

describe.skipIf(gpuProblem)(`tfjs-node-gpu${gpuProblem ? `: skipped, ${gpuProblem}` : ''}`, () => {
  test('without a GPU trains on the CPU, and every rank reports the reason', async () => {
    const example = ['packages/examples-mnist-tfjs/train.ts', '--tf', '@tensorflow/tfjs-node-gpu'];
    const options = ['--data', data, '--train-images', '128', '--test-images', '2'];
    const command = launch(['--nproc', '2', ...example, ...options], { env: quiet });
    const { stderr, code } = withoutWaiting(await command.ended);
    expect(code, stderr).toBe(0);
    for (const rank of [0, 1]) {
      const line = `ringrun: rank ${rank}: @tensorflow/tfjs-node-gpu found no GPU (CUDA_VISIBLE_DEVICES=${rank}) and computes on the CPU.`;
      expect(stderr.split(line)).toHaveLength(2);
    }
  });
});

interface Trained {
  backend: string;
  weights: number[];
}
