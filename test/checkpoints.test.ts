import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import * as ort from 'onnxruntime-node';
import { builtScript } from './support/built-script.ts';
import { launch } from './support/command.ts';
import { largestDifference } from './support/largest-difference.ts';
import { SharedScenarios } from './support/shared-scenarios.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

const scenarios = new SharedScenarios(builtScript('fixtures/checkpoints'), temporaryFolder());

test('a checkpoint restores the state at the time of the save, per rank if registered so', async () => {
  const dir = join(temporaryFolder(), 'only', 'rank 0');
  const found = await scenarios.run<Record<string, unknown>>(2, 'roundTrip', { env: { DIR: dir } });
  const path = `${dir}/checkpoint-000001-step-1`;
  for (const [rank, result] of found.entries()) {
    expect(result).toEqual({
      nothing: true,
      resumed: {
        at: 1,
        epoch: 2,
        worldSize: 2,
        path,
        recent: true,
        best: 0.1,
        from: 0,
        losses: ['0.5', 'NaN'],
      },
      restored: true,
      goesOn: true,
      shared: 'shared of rank 0',
      own: `own of ${rank}`,
    });
  }
  const files = ['manifest.json', 'model.safetensors', 'optimizer.safetensors', 'own.safetensors'];
  expect(readdirSync(path)).toEqual([
    ...files,
    'random.nn.safetensors',
    'shared.safetensors',
    'state.json',
    'values.safetensors',
  ]);
});

test('a checkpoint with the keys of earlier versions, in snake_case, is loaded', async () => {
  const [first] = await scenarios.run(2, 'earlierKeys', { env: { DIR: temporaryFolder() } });
  expect(first).toEqual({ step: 1, keys: ['hiddenLayer.weight', 'hiddenLayer.bias'], saved: true });
});

interface Failure {
  name: string;
  code: string;
  message: string;
  cause?: { code?: string; message: string };
}

/** The result, which must be equal on all ranks. */
function same<Result>(found: readonly Result[]): Result {
  for (const other of found) expect(other).toEqual(found[0]);
  return found[0];
}

test('a checkpoint that does not fit is refused on every rank with both sides and no changes', async () => {
  const dir = temporaryFolder();
  const found = await scenarios.run<Record<string, Failure & { holder: string; moved: boolean }>>(
    2,
    'misfits',
    {
      env: { DIR: dir },
      stderr: expect.any(String),
    },
  );
  const refusals = same(found);
  const expected = {
    shape:
      'First difference of model: first.weight: the checkpoint has F32 [3, 4], this program has F32 [5, 4].',
    key: 'First difference of model: third.weight: the checkpoint has no such tensor, this program has F32 [2, 2].',
    kind: 'model: ',
    names: 'other is registered, but not in the checkpoint.',
    oneSide: 'the checkpoint has holder, which is not registered.',
    lastRankRefuses: 'rank 1: holder: this rank cannot',
  };
  for (const [kind, message] of Object.entries(expected)) {
    expect(refusals[kind].message).toContain(
      `Checkpointer.resume from ${dir}/checkpoint-000001-step-1: rank `,
    );
    expect(refusals[kind].message).toContain(message);
    expect(refusals[kind]).toMatchObject({ code: 'ERR_CHECKPOINT_MISFIT', holder: 'before', moved: false });
  }
  expect(refusals.notStrict).toMatchObject({ message: 'none', holder: 'saved', moved: false });
  expect(refusals.none).toMatchObject({ message: 'none', holder: 'saved', moved: true });
});

test('invalid arguments are refused on every rank, and the next save works', async () => {
  const dir = temporaryFolder();
  const { latest, ...refusals } = same(
    await scenarios.run<Record<string, Failure> & { latest: string }>(2, 'refusals', { env: { DIR: dir } }),
  );
  const messages = Object.fromEntries(
    Object.entries(refusals).map(([kind, { code, message }]) => [kind, `${code}: ${message}`]),
  );
  const expected = {
    name: "ERR_INVALID_ARGUMENT: Checkpointer.register: expected a letter followed by letters, digits, _ or -, got 'a.b'",
    taken:
      "ERR_INVALID_ARGUMENT: Checkpointer.register: expected another name, because this one is already registered, got 'holder'",
    reserved: "save stores its `values` under this one, got 'values'",
    stateless: 'best has no stateDict and no loadStateDict. Register an object with both',
    keep: 'ERR_INVALID_ARGUMENT: Checkpointer: ',
    place:
      "ERR_INVALID_ARGUMENT: Checkpointer: dir: expected a path, a file: URL or s3://bucket/prefix, got 'gs://bucket'",
    file: 'ERR_INVALID_ARGUMENT: Checkpointer: dir: expected a folder, got the file /',
    belowFile: '/test/dist/fixtures/checkpoints.js is a file. Use a folder',
    step: 'ERR_CHECKPOINT_NOT_WRITTEN: Checkpointer.save: rank 0: Checkpointer.save: step',
    ranksDiffer: 'ERR_CHECKPOINT_RANKS_DIFFER: ',
    unsavable: 'values.callback is a function, which a checkpoint cannot hold',
    notFound: `ERR_CHECKPOINT_NOT_FOUND: Checkpointer.resume("${dir}/nowhere"): expected a complete checkpoint in ${dir}/nowhere, but no rank sees one`,
    noCheckpoint: `ERR_CHECKPOINT_NOT_FOUND: Checkpointer.resume("${dir}/checkpoint-000007-step-1"): expected a complete checkpoint at ${dir}/checkpoint-000007-step-1, but`,
  };
  for (const [kind, message] of Object.entries(expected)) expect(messages[kind]).toContain(message);
  expect(messages.ranksDiffer).toContain('rank 0 has step 5 of epoch 0 with holder');
  expect(messages.ranksDiffer).toContain('rank 1 has step 6 of epoch 0 with holder');
  expect(messages.oneRank).toContain('rank 1: Checkpointer.save: step');
  expect(latest).toBe(`${dir}/checkpoint-000001-step-6`);
});

test.each([1, 3])('the rest of an epoch of two ranks is divided among %i', async (size) => {
  const env = { DIR: temporaryFolder() };
  const before = (await scenarios.run<number[]>(2, 'samplesBefore', { env })).flat();
  expect(before).toHaveLength(8);
  const stderr =
    size === 3
      ? /resuming on 3 ranks a checkpoint of 2 ranks: the new ranks keep their own state of random\.nn/
      : '';
  const after = (
    await scenarios.run<number[]>(size, 'samplesAfter', {
      env,
      stderr: typeof stderr === 'string' ? stderr : (expect.stringMatching(stderr) as unknown),
    })
  ).flat();
  expect([...before, ...after].sort((a, b) => a - b)).toEqual(Array.from({ length: 23 }, (_, i) => i));
});

test('all ranks skip a damaged checkpoint, and one line reports it', async () => {
  const dir = temporaryFolder();
  const env = { DIR: dir };
  await scenarios.run(2, 'save', { env: { ...env, STEPS: '1,1' } });
  const file = join(dir, 'checkpoint-000002-step-1', 'holder.safetensors');
  expect(existsSync(file)).toBe(true);
  const bytes = readFileSync(file);
  bytes[bytes.length - 1] ^= 1;
  writeFileSync(file, bytes);
  const line =
    /^ringrun: .*checkpoint-000002-step-1 is damaged: holder\.safetensors: it has .* of SHA-256 .*, expected .* of SHA-256 .*\. Resuming from checkpoint-000001-step-1 instead\.\n$/;
  const found = await scenarios.run(2, 'resume', { env, stderr: expect.stringMatching(line) });
  expect(same(found)).toMatchObject({ failure: { message: 'none' }, step: 1, value: 1 });
});

test('a model loaded from a checkpoint computes the same outputs after export', async () => {
  const dir = temporaryFolder();
  const env = { DIR: dir };
  await scenarios.run(2, 'trainClassifier', { env });
  const [{ answers, moved }] = await scenarios.run<{ answers: Record<string, number[]>; moved: boolean }>(
    1,
    'exportClassifier',
    { env },
  );
  expect(moved).toBe(true);
  const session = await ort.InferenceSession.create(join(dir, 'classifier.onnx'));
  expect([session.inputNames, session.outputNames]).toEqual([['images'], ['scores']]);
  expect(session.inputMetadata[0]).toMatchObject({ shape: ['batch', 1, 6, 6] });
  for (const batch of [1, 7]) {
    const images = Float32Array.from({ length: batch * 36 }, (_, i) => Math.cos(i * batch));
    const { scores } = await session.run({ images: new ort.Tensor('float32', images, [batch, 1, 6, 6]) });
    expect(scores.dims).toEqual([batch, 4]);
    expect(largestDifference([...(scores.data as Float32Array)], answers[batch])).toBeLessThan(1e-5);
    expect(answers[batch].some((score) => Math.abs(score) > 0.01)).toBe(true);
  }
});

test('a program that ends during a save completes the checkpoint first', async () => {
  const env = { DIR: temporaryFolder(), BYTES: 30_000_000 };
  await scenarios.job(2, ['saveAndEnd'], { env }).of('saveAndEnd');
  const [found] = await scenarios.run(2, 'resume', { env });
  expect(found).toMatchObject({ step: 1, value: 1 });
});

test('a training resumes from the checkpoint that a failed one of the same process is still writing', async () => {
  const found = await scenarios.run(2, 'resumeDuringSave', { env: { DIR: temporaryFolder() } });
  for (const each of found) expect(each).toEqual({ step: 1, value: 1 });
});

test('an unreported failure sets the exit code', async () => {
  const env = { DIR: '/proc/checkpoints' };
  const args = ['--nproc', '2', builtScript('fixtures/checkpoints'), 'saveAndEnd', temporaryFolder()];
  const { code, stderr, left } = await launch(args, { env }).ended;
  expect({ code, left }).toEqual({ code: 1, left: [] });
  expect(stderr).toContain('the checkpoint of step 1 was not written to /proc/checkpoints: writing /proc/');
  expect(stderr).toMatch(/root cause: rank 0 .*exit code 1/);
});
