import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ResNetEncoder } from '@ringrun/examples-finetune';
import { tensor } from '@ringrun/nn';
import { loadSafetensors } from 'ringrun';
import { fill } from '../packages/nn/test/support/fill.ts';
import type { Trace, TraceEvent } from '../packages/runtime/src/profiler/trace.ts';
import { builtScript } from './support/built-script.ts';
import { launch } from './support/command.ts';
import { isFull } from './support/extent.ts';
import { firstMnist } from './support/first-mnist.ts';
import { largestDifference } from './support/largest-difference.ts';
import { Scenarios } from './support/scenarios.ts';
import { temporaryFolder } from './support/temporary-folder.ts';
import { withoutWaiting } from './support/without-waiting.ts';

const folder = temporaryFolder();
const weights = new URL('../packages/examples-finetune/digits-0-to-4.safetensors', import.meta.url);
const [encoderElements, headElements, headParameters] = [77_104, 4_485, 4];

test('a network of PyTorch in seven dtypes computes the features of PyTorch after one call', async () => {
  const golden = JSON.parse(readFileSync(new URL('golden/finetune.json', import.meta.url), 'utf8')) as {
    features: number[];
  };
  const encoder = new ResNetEncoder().eval();
  expect(encoder.loadStateDict(await loadSafetensors(weights), { strict: false })).toEqual({
    missingKeys: [],
    unexpectedKeys: expect.arrayContaining(['fc.weight', 'fc.bias', 'seen', 'palette', 'epochs']) as unknown,
  });
  const features = await encoder.forward(tensor(fill([2, 1, 28, 28], 1), [2, 1, 28, 28])).array();
  const largest = Math.max(...golden.features);
  expect(largest).toBeGreaterThan(0.1);
  expect(largestDifference([...features].map(Number), golden.features)).toBeLessThan(1e-5 * largest);
});

test('two ranks train the same head as one process, and the encoder is unchanged bit by bit', async () => {
  type Tuned = Record<'encoder' | 'head', number[]> & { before: Record<'encoder' | 'head', number[]> };
  const scenarios = new Scenarios(builtScript('finetune.script'), folder);
  const alone = await scenarios.runAlone<Tuned>('alone');
  const [first, second] = await scenarios.run<Tuned>(2, 'together');
  expect(first).toEqual(second);
  for (const { encoder, before } of [alone, first]) expect(encoder).toEqual(before.encoder);
  expect(largestDifference(alone.head, alone.before.head)).toBeGreaterThan(0.05);
  expect(largestDifference(first.head, alone.head)).toBeLessThan(1e-5);
});

describe('the example on two ranks', () => {
  const data = firstMnist({ train: 3000, test: 1000 });

  async function run(args: readonly string[]): Promise<{ stdout: string; events: Complete[] }> {
    const trace = join(folder, `trace-${args.length}.json`);
    const script = 'packages/examples-finetune/train.ts';
    const options = ['--data', data, '--profile', trace, ...args];
    const { stdout, ...ended } = withoutWaiting(await launch(['--nproc', '2', script, ...options]).ended);
    expect(ended).toMatchObject({ code: 0, stderr: '', timedOut: false, left: [] });
    const { traceEvents } = JSON.parse(readFileSync(trace, 'utf8')) as Trace;
    return { stdout, events: traceEvents.filter((event) => event.ph === 'X') as Complete[] };
  }
  type Complete = TraceEvent & { ph: 'X'; args?: Record<string, number> };
  const valuesOf = (events: readonly Complete[], cat: string, detail: string) => [
    ...new Set(
      events.filter((event) => event.cat === cat && event.args?.[detail]).map(({ args }) => args![detail]),
    ),
  ];

  test('learns other digits, and neither computes nor sends gradients of the encoder', async () => {
    const { stdout, events } = await run(['--epochs', '3']);
    expect(stdout).toContain('not loaded: epochs, palette, seen\n');
    expect(stdout).toContain(`trains ${headElements} of ${encoderElements + headElements} parameters\n`);
    expect(stdout).toMatch(/^parameters identical on 2 ranks: [0-9a-f]{64}$/m);
    expect(Number(/^accuracy (\d\.\d{4}) /m.exec(stdout)?.[1])).toBeGreaterThan(0.7);
    expect(valuesOf(events, 'compute', 'gradients')).toEqual([headParameters]);
    // The head's gradients, one number for each of its parameters, and one for the rank.
    expect(valuesOf(events, 'communication', 'bytes')).toContain(4 * (headElements + headParameters + 1));
    expect(Math.max(...valuesOf(events, 'communication', 'bytes'))).toBeLessThan(4 * encoderElements);
  });

  test.runIf(isFull)('--unfreeze trains and sends everything', async () => {
    const { stdout, events } = await run(['--unfreeze']);
    expect(stdout).toContain(`trains ${encoderElements + headElements} of`);
    const [gradients] = valuesOf(events, 'compute', 'gradients');
    expect(gradients).toBeGreaterThan(20);
    const bytes = 4 * (encoderElements + headElements + gradients + 1);
    expect(valuesOf(events, 'communication', 'bytes')).toContain(bytes);
  });
});
