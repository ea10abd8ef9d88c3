import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { launch } from './support/command.ts';
import { isFull } from './support/extent.ts';
import { syntheticMnist } from './support/synthetic-mnist.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

const data = syntheticMnist({ train: 5, test: 2 });
const folder = temporaryFolder();

// Few and small batches: tfjs without its native library takes half a second per image.
test("model.fitDataset trains MNIST on two ranks, prints Kubeflow's lines and saves on rank 0", async () => {
  const args = [
    '--data',
    data,
    '--batch-size',
    '2',
    '--log-interval',
    '1',
    '--scale-lr',
    '--save-model',
    folder,
  ];
  const command = launch(['--nproc', '2', 'packages/examples-mnist-tfjs/train.ts', ...args]);
  const { stdout, ...ended } = await command.ended;
  expect(ended).toMatchObject({ code: 0, timedOut: false, left: [] });
  expect(ended.stderr.match(/TensorFlow\.js computes in plain JavaScript/g)).toHaveLength(1);
  const number = String.raw`\d+\.\d{4}`;
  const lines = [
    String.raw`Train Epoch: 1 \[0/5 \(0%\)\]\tloss=${number}`,
    String.raw`Train Epoch: 1 \[4/5 \(50%\)\]\tloss=${number}`,
    '',
    String.raw`accuracy=[01]\.\d{4}\tloss=${number}`,
    '',
    String.raw`\d+ images/s on 2 ranks \(\d+\.\d\d s of training\)`,
    String.raw`rank +time +images/s +input +compute +waiting`,
    String.raw` +0 +.*`,
    String.raw` +1 +.*`,
    String.raw` +all +.*`,
    // Either rank may be the slow one.
    '.*waited.*',
    String.raw`parameters identical on 2 ranks: [0-9a-f]{64}`,
    `model saved to ${folder}`,
    String.raw`accuracy [01]\.\d{4} on ${data}`,
    '',
  ];
  expect(stdout).toMatch(new RegExp(`^${lines.join('\n')}$`));
  // The loss of an untrained model on two images is near that of guessing, ln 10.
  expect(Math.abs(Number(/loss=(.*)/.exec(stdout)![1]) - Math.log(10))).toBeLessThan(1.5);
  expect(readdirSync(folder)).toHaveLength(2);
});

test.runIf(isFull)('--resume continues after an epoch with the same bits', async () => {
  const train = async (...args: string[]) => {
    const script = 'packages/examples-mnist-tfjs/train.ts';
    const common = ['--data', data, '--batch-size', '2', '--epochs', '2', '--seed', '3', '--backend', 'gloo'];
    const { stdout, code, stderr } = await launch(['--nproc', '2', script, ...common, ...args]).ended;
    expect(code, stderr).toBe(0);
    return stdout;
  };
  const digestOf = (stdout: string) => /identical on 2 ranks: ([0-9a-f]{64})/.exec(stdout)![1];
  const output = temporaryFolder();
  const whole = await train('--output', output, '--no-cuda');
  const rest = await train('--resume', join(output, 'checkpoint-000001-step-1'));
  expect(rest).not.toContain('Train Epoch: 1');
  expect(digestOf(rest)).toBe(digestOf(whole));
  const none = await train('--output', output, '--resume');
  expect(digestOf(none)).toBe(digestOf(whole));
  expect(none).toMatch(/^accuracy [01]\.\d{4} on /m);
});
