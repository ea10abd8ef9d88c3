// Every example takes the options of Kubeflow's PyTorch example, with the same meanings.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { describe, expect, test } from 'vitest';
import { launch } from './support/command.ts';
import { compiledExample } from './support/compiled-example.ts';
import { ways } from './support/extent.ts';
import { syntheticCifar10 } from './support/synthetic-cifar10.ts';
import { syntheticMnist } from './support/synthetic-mnist.ts';
import { temporaryFolder } from './support/temporary-folder.ts';
import { withoutWaiting } from './support/without-waiting.ts';

const images = { train: 240, test: 60 };
const gpt = ['--synthetic', '--context', '16', '--layers', '1', '--heads', '2', '--width', '16'];
const tokens = (count: number) => BigInt64Array.from({ length: count }, (_, i) => BigInt(1 + (i % 9)));

/** An example, its own options, and inputs of two samples for the saved model, with the shape of its output. */
interface Example {
  readonly name: string;
  readonly args: () => readonly string[];
  readonly input: () => Tensor;
  readonly output: readonly number[];
}

const examples: Record<'few' | 'others', Example[]> = {
  few: [
    {
      name: 'text',
      args: () => ['--synthetic'],
      input: () => new Tensor('int64', tokens(2 * 48), [2, 48]),
      output: [2, 4],
    },
    {
      name: 'gpt',
      args: () => gpt,
      input: () => new Tensor('int64', tokens(2 * 8), [2, 8]),
      output: [2, 8, 25],
    },
    {
      name: 'finetune',
      args: () => ['--data', syntheticMnist(images)],
      input: () => new Tensor('float32', new Float32Array(2 * 784), [2, 1, 28, 28]),
      output: [2, 5],
    },
    {
      name: 'finetune-text',
      args: () => ['--synthetic'],
      input: () => new Tensor('int64', tokens(2 * 7), [2, 7]),
      output: [2, 2],
    },
  ],
  others: [
    {
      name: 'segmentation',
      args: () => ['--width', '4', '--size', '32', '--images', '48'],
      input: () => new Tensor('float32', new Float32Array(2 * 3072), [2, 3, 32, 32]),
      output: [2, 4, 32, 32],
    },
    {
      name: 'mnist',
      args: () => ['--data', syntheticMnist(images)],
      input: () => new Tensor('float32', new Float32Array(2 * 784), [2, 1, 28, 28]),
      output: [2, 10],
    },
    {
      name: 'cifar',
      args: () => ['--data', syntheticCifar10(images)],
      input: () => new Tensor('float32', new Float32Array(2 * 3072), [2, 3, 32, 32]),
      output: [2, 10],
    },
  ],
};

async function train(name: string, args: readonly string[]): Promise<string> {
  // The example finds its weights beside its source.
  const script =
    name === 'finetune' ? `packages/examples-${name}/train.ts` : compiledExample(`examples-${name}`);
  const { stdout, ...ended } = withoutWaiting(await launch(['--nproc', '2', script, ...args]).ended);
  expect(ended).toMatchObject({ code: 0, timedOut: false, left: [] });
  // Processors without bfloat16 are named.
  expect(ended.stderr.replaceAll(/^ringrun: autocast: .*\n/gm, '')).toBe('');
  return stdout;
}

const digestOf = (stdout: string) => /^parameters identical on 2 ranks: ([0-9a-f]{64})$/m.exec(stdout)?.[1];

describe.each(ways(examples.few, examples.others))('examples-$name', ({ name, args, input, output }) => {
  test('takes every shared option, and resumes with the same bits', async () => {
    const folder = temporaryFolder();
    const [dir, checkpoints, model] = ['logs', 'checkpoints', 'model.onnx'].map((one) => join(folder, one));
    const [jsonLines, trace] = [join(folder, 'metrics.jsonl'), join(folder, 'trace.json')];
    const common = [
      ...args(),
      ...['--backend', 'gloo', '--no-cuda', '--bf16', '--epochs', '2', '--batch-size', '6'],
      ...['--lr', '0.002', '--scale-lr', '--seed', '3', '--log-interval', '5'],
    ];
    const writing = ['--dir', dir, '--log-path', jsonLines, '--profile', trace, '--save-model', model];
    // A checkpoint in the second epoch of each.
    const interval = ['text', 'gpt'].includes(name) ? '30' : '3';
    const saving = ['--output', checkpoints, '--checkpoint-interval', interval];
    const whole = await train(name, [...common, ...writing, ...saving]);
    expect(whole).toContain(`model saved to ${model}\n`);
    expect(whole).toMatch(/^[1-9]\d* \w+\/s on 2 ranks \(\d+\.\d\d s of training\)$/m);

    const [file] = readdirSync(dir);
    const events = readFileSync(join(dir, file), 'latin1');
    for (const tag of ['train/loss', 'train/learning_rate', 'test/loss']) expect(events).toContain(tag);
    const logged = readFileSync(jsonLines, 'utf8').trim().split('\n');
    const printed = /loss=(\d+\.\d{4})\n/g;
    const last = JSON.parse(logged.at(-1)!) as { 'test/loss': number };
    expect(last['test/loss'].toFixed(4)).toBe([...whole.matchAll(printed)].at(-1)![1]);
    expect(readFileSync(trace, 'utf8')).toContain('"traceEvents"');
    const session = await InferenceSession.create(model);
    const found = await session.run({ [session.inputNames[0]]: input() });
    expect(found[session.outputNames[0]].dims).toEqual(output);

    // The newest checkpoint is the end of the training; the one before it is in the second epoch.
    const inEpoch = readdirSync(checkpoints)
      .filter((one) => one.startsWith('checkpoint-'))
      .sort()
      .at(-2)!;
    const resuming = ['--output', join(folder, 'rest'), '--resume', join(checkpoints, inEpoch)];
    const rest = await train(name, [...common, ...resuming]);
    expect(rest).toMatch(/^resumed from .*: step \d+, epoch 2$/m);
    expect(rest).not.toContain('Train Epoch: 1');
    expect(digestOf(rest)).toBeDefined();
    expect(digestOf(rest)).toBe(digestOf(whole));
  });
});
