// The newest checkpoint does not depend on the wall clock: numbers order the checkpoints of a folder, and a training
// names the others that it has seen.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { WallClock, compilePreload, preloadProblem } from './faults/support/preload.ts';
import { builtScript } from './support/built-script.ts';
import { isFull } from './support/extent.ts';
import { Scenarios } from './support/scenarios.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

const problem = preloadProblem();
const library = problem === undefined ? compilePreload('clock') : '';
const day = 86_400_000;

/** The environment of a process whose clock differs by so many milliseconds. */
function clockAt(differenceMs: number): Readonly<Record<string, string>> {
  const clock = new WallClock(library, join(temporaryFolder(), 'clock'));
  clock.change(differenceMs);
  return clock.env;
}

describe.skipIf(problem)(`a clock that is set back${problem ? `: skipped, ${problem}` : ''}`, () => {
  const scenarios = new Scenarios(builtScript('fixtures/checkpoints'), temporaryFolder());

  test.runIf(isFull)('between two trainings in one folder: the later one is the newest', async () => {
    const dir = temporaryFolder();
    await scenarios.run(1, 'save', { env: { DIR: dir, STEPS: '900', ...clockAt(day) } });
    await scenarios.run(1, 'save', { env: { DIR: dir, STEPS: '40', ...clockAt(-day) } });
    expect(await scenarios.run(1, 'resume', { env: { DIR: dir } })).toMatchObject([{ step: 40 }]);
  });

  test('between two saves: the later one is the newest, and rotation keeps it', async () => {
    const dir = temporaryFolder();
    await scenarios.run(1, 'save', { env: { DIR: dir, STEPS: '1,2,3', ...clockAt(day) } });
    await scenarios.run(1, 'resumeAndSave', { env: { DIR: dir, ...clockAt(-day) } });
    expect(readdirSync(dir).filter((name) => name.startsWith('checkpoint-'))).toEqual(
      [2, 3, 4].map((step) => `checkpoint-00000${step}-step-${step}`),
    );
    expect(await scenarios.run(1, 'resume', { env: { DIR: dir } })).toMatchObject([{ step: 4 }]);
  });

  test('on a host whose training has seen the one of another host: it stays the newest', async () => {
    const [old, own] = [temporaryFolder(), temporaryFolder()];
    await scenarios.run(1, 'save', { env: { DIR: old, STEPS: '1,900', ...clockAt(-day) } });
    await scenarios.run(1, 'save', { env: { DIR: own, STEPS: '40' } });
    const hosts = { DIRS: `${own},${old}` };
    const line = (reason: string) =>
      expect.stringMatching(new RegExp(`Resuming from the one that was ${reason}`)) as unknown;
    const [found] = await scenarios.run<{ step: number }>(2, 'resumeAndSave', {
      env: hosts,
      stderr: line('saved last'),
    });
    expect(found.step).toBe(40);
    // Its clock is now earlier than that of the other training, and this save is its only one left.
    await scenarios.run(2, 'resumeAndSave', {
      env: { ...hosts, ...clockAt(-3 * day) },
      stderr: line('begun last'),
    });
    for (const { step } of await scenarios.run<{ step: number }>(2, 'resume', {
      env: hosts,
      stderr: line('begun last'),
    }))
      expect(step).toBe(42);
  });
});
