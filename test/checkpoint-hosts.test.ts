import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { builtScript } from './support/built-script.ts';
import { launch } from './support/command.ts';
import { SharedScenarios } from './support/shared-scenarios.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

const scenarios = new SharedScenarios(builtScript('fixtures/checkpoints'), temporaryFolder());

interface Failure {
  code: string;
  message: string;
  cause?: { code?: string; message: string };
}

describe('folders that exist on one host only', () => {
  test('a rank that sees the newest checkpoint sends it; the next one has a higher number', async () => {
    const [full, empty] = [temporaryFolder(), temporaryFolder()];
    await scenarios.run(2, 'save', { env: { DIR: full } });
    const stderr = expect.stringMatching(
      new RegExp(
        String.raw`^ringrun: rank 0 \(host .*\) does not see checkpoint-000001-step-1 in ${empty}; rank 1 \(host .*\) sees it and sends it to all ranks\. Keep checkpoints in a folder that all hosts share.*\n$`,
      ),
    ) as unknown;
    const env = { DIRS: `${empty},${full}` };
    for (const found of await scenarios.run(2, 'resumeAndSave', { env, stderr }))
      expect(found).toEqual({
        step: 1,
        value: 1,
        latest: [`${empty}/checkpoint-000002-step-2`, `${full}/checkpoint-000001-step-1`],
      });
    // Rank 0 uses its first folder again.
    const back = { DIRS: `${full},${empty}` };
    for (const found of await scenarios.run(2, 'resume', {
      env: back,
      stderr: expect.stringContaining('checkpoint-000002-step-2'),
    }))
      expect(found).toMatchObject({ step: 2 });
  });

  test('resumes the last of several trainings, and prints one line that names the others', async () => {
    const [old, own] = [temporaryFolder(), temporaryFolder()];
    await scenarios.run(1, 'save', { env: { DIR: old, STEPS: '1,900' } });
    await scenarios.run(1, 'save', { env: { DIR: own, STEPS: 40 } });
    const line =
      /the hosts have checkpoints of different trainings: rank 0 \(host .*\) has checkpoint-000002-step-900, saved 20.*; rank 1 \(host .*\) has checkpoint-000001-step-40, saved 20.*\. Resuming from the one that was saved last, checkpoint-000001-step-40 of rank 1\./;
    const stderr = expect.stringMatching(line) as unknown;
    const found = await scenarios.run(2, 'resume', { env: { DIRS: `${old},${own}` }, stderr });
    for (const one of found) expect(one).toMatchObject({ failure: { message: 'none' }, step: 40 });
  });

  test('a copy on another host replaces a damaged one, and a line reports it', async () => {
    const [first, second] = [temporaryFolder(), temporaryFolder()];
    await scenarios.run(1, 'save', { env: { DIR: first, STEPS: '1,2' } });
    cpSync(first, second, { recursive: true });
    const name = 'checkpoint-000002-step-2';
    writeFileSync(join(first, name, 'holder.safetensors'), 'damaged');
    const line = new RegExp(
      `${name} is damaged: holder\\.safetensors: .* Resuming from ${name} of rank 1 instead\\.`,
    );
    const stderr = expect.stringMatching(line) as unknown;
    const found = await scenarios.run(2, 'resume', { env: { DIRS: `${first},${second}` }, stderr });
    for (const one of found) expect(one).toMatchObject({ step: 2, value: 1 });
  });

  test.each([
    ['no checkpoint', '', 'no rank sees a checkpoint in this location'],
    [
      'newer numbers of another training',
      '1,1',
      String.raw`rank 0 \(host .*\) sees only checkpoints of other trainings, such as checkpoint-000002-step-1`,
    ],
  ])(
    'a restarted job that finds %s instead of its own fails with host and folder',
    async (_, others, seen) => {
      const [folder, results] = [temporaryFolder(), temporaryFolder()];
      const elsewhere = { DIR: join(folder, 'mine-of-another-host') };
      if (others !== '') await scenarios.run(1, 'save', { env: { ...elsewhere, STEPS: others } });
      const args = [
        '--nproc',
        '2',
        '--max-restarts',
        '1',
        builtScript('fixtures/checkpoints'),
        'saveAndRestart',
        results,
      ];
      await launch(args, { env: { DIR: join(folder, 'mine') } }).ended;
      const found = [0, 1].map(
        (rank) => JSON.parse(readFileSync(join(results, `saveAndRestart-${rank}.json`), 'utf8')) as Failure,
      );
      expect(found[1]).toEqual(found[0]);
      expect(found[0].code).toBe('ERR_CHECKPOINT_BEHIND');
      expect(found[0].message).toMatch(
        new RegExp(
          String.raw`this job has saved step 7 \(${folder}/here/checkpoint-000001-step-7, written on host ${hostname()}\), but ${seen} .* path of a checkpoint to resume\(\)`,
        ),
      );
    },
  );
});
