// Changes of the wall clock. Durations are measured with the monotonic clock, so no job ends, restarts or waits because
// of them.
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { builtScript } from '../support/built-script.ts';
import { launch } from '../support/command.ts';
import type { Command } from '../support/command.ts';
import { freePort } from '../support/free-port.ts';
import { pidOfRank } from '../support/pid-of-rank.ts';
import { temporaryFolder, temporaryProject } from '../support/temporary-folder.ts';
import { WallClock, compilePreload, preloadProblem } from './support/preload.ts';

const problem = preloadProblem();
const isFull = process.env['RINGRUN_FAULTS'] === 'full';
const place = temporaryFolder();
const project = temporaryProject();
const library = problem === undefined ? compilePreload('clock') : '';
const hour = 3_600_000;

/** Later than the uptime of the machine. */
const year1970 = Date.UTC(1970, 6, 1);
const changes = {
  'is set forward by an hour': (clock) => {
    clock.change(hour);
  },
  'is set back by an hour': (clock) => {
    clock.change(-hour);
  },
  'is set back to 1970': (clock) => {
    clock.changeTo(year1970);
  },
  'stands still': (clock) => {
    clock.freeze(Date.now());
  },
} satisfies Record<string, (clock: WallClock) => void>;
const all = Object.entries<(clock: WallClock) => void>(changes);
/** A clock that is set back, or all changes. */
const some = isFull ? all : all.slice(1, 2);

function newFolder(): { folder: string; clock: WallClock } {
  const folder = mkdtempSync(join(place, 'job-'));
  return { folder, clock: new WallClock(library, join(folder, 'clock')) };
}

function say(folder: string, what: string): void {
  writeFileSync(join(folder, what), '');
}

async function endsWell(command: Command): Promise<string> {
  const { code, timedOut, left, stderr, stdout } = await command.ended;
  expect({ code, timedOut, left }, stderr + stdout).toEqual({ code: 0, timedOut: false, left: [] });
  return stderr;
}

describe.skipIf(problem)(`the wall clock${problem ? `: skipped, ${problem}` : ''}`, () => {
  test.each(isFull ? all : all.slice(1, 2))('%s: a job of two ranks continues', async (_, change) => {
    const { folder, clock } = newFolder();
    const job = launch(['--nproc', '2', builtScript('faults/clock.script'), folder], { env: clock.env });
    await job.sees(/rank 1 works/);
    change(clock);
    say(folder, 'changed');
    expect(await endsWell(job)).toBe('');
  });

  /** Fails in rounds 0 to 2, each time after the test has changed the clock. */
  const failing = () => {
    const path = join(project, 'failing.mjs');
    writeFileSync(
      path,
      `import { existsSync } from 'node:fs';
      import { setTimeout } from 'node:timers/promises';
      const { RINGRUN_RESTART_COUNT: round } = process.env;
      const [folder, message] = process.argv.slice(2);
      console.log('round', round, 'waits');
      do await setTimeout(5);
      while (!existsSync(folder + '/' + round));
      if (Number(round) < 3) throw new Error(message + (message === 'other' ? round : ''));`,
    );
    return path;
  };

  test.each(some)('%s: failures soon after the start are still delayed', async (_, change) => {
    const { folder, clock } = newFolder();
    const env = { ...clock.env, RINGRUN_RESTART_BACKOFF: 0.2 };
    const job = launch(['--max-restarts', '3', failing(), folder, 'other'], { env });
    for (const round of [0, 1, 2, 3]) {
      await job.sees(new RegExp(`round ${round} waits`));
      change(clock);
      say(folder, String(round));
    }
    const stderr = await endsWell(job);
    expect(stderr).toMatch(/: restart 2 of 3 in 0\.2 s, because 2 starts in a row failed within 60 s/);
    expect(stderr).toMatch(/: restart 3 of 3 in 0\.4 s, because 3 starts in a row failed within 60 s/);
    expect(
      [...stderr.matchAll(/, (\d+)\.\d s after the start: /g)].map(([, seconds]) => Number(seconds)),
    ).toEqual(expect.arrayContaining([expect.toSatisfy((seconds: number) => seconds < 30)]) as number[]);
    expect(stderr).not.toMatch(/\d{3,}\.\d s after the start/);
  });

  test.each(some)('%s: a start that fails twice in the same way is not repeated', async (_, change) => {
    const { folder, clock } = newFolder();
    const job = launch(['--max-restarts', '9', failing(), folder, 'same'], { env: clock.env });
    for (const round of [0, 1]) {
      await job.sees(new RegExp(`round ${round} waits`));
      change(clock);
      say(folder, String(round));
    }
    const { code, stderr } = await job.ended;
    expect(code, stderr).toBe(1);
    expect(stderr).toMatch(/no restart: the start failed twice in the same way/);
  });

  test.each(some)('%s between two failures: the first one is the root cause', async (_, change) => {
    const { folder, clock } = newFolder();
    const path = join(project, 'ordered.mjs');
    // Rank 1 records its error, and exits after rank 0 has recorded another one.
    writeFileSync(
      path,
      `import { existsSync, writeFileSync } from 'node:fs';
      const [folder, isSecond] = [process.argv[2], process.env.RANK === '0'];
      const until = (isOver) => {
        while (!isOver()) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
      };
      process.on('SIGTERM', () => undefined);
      if (isSecond) {
        writeFileSync(folder + '/second', '');
        until(() => existsSync(folder + '/changed'));
        process.on('exit', () => writeFileSync(folder + '/end', ''));
      } else {
        until(() => existsSync(folder + '/second'));
        process.on('exit', () => {
          console.log('rank 1 has failed');
          until(() => existsSync(folder + '/end'));
        });
      }
      throw new Error(isSecond ? 'the consequence' : 'the cause');`,
    );
    const job = launch(['--nproc', '2', path, folder], { env: clock.env });
    await job.sees(/rank 1 has failed/);
    change(clock);
    say(folder, 'changed');
    const { code, stderr } = await job.ended;
    expect(code).toBe(1);
    expect(stderr.trimEnd().split('\n').at(-1)).toMatch(
      /root cause: rank 1 .* s after the start: .*the cause$/,
    );
  });

  test.skipIf(!isFull).each(all)('%s: `shrink` replaces a rank that dies', async (_, change) => {
    const { folder, clock } = newFolder();
    const env = { ...clock.env, OUT: folder, PAUSE_MS: 20, OMP_NUM_THREADS: 1 };
    const args = ['--nproc', '2', '--max-restarts', '1', builtScript('faults/recovery.script'), '120'];
    const job = launch(args, { env });
    await job.sees(/rank 1 has done step 10$/m);
    change(clock);
    process.kill(pidOfRank(job, 1), 'SIGKILL');
    await job.sees(/rank 1 joins after step/);
    change(clock);
    const stderr = await endsWell(job);
    expect(stderr).toMatch(/the job finished with all ranks, after 1 process died/);
    expect(stderr).not.toMatch(/restarting the workers|waiting/);
  });

  const patience = 'keep_alive_interval=0.5,keep_alive_max_attempt=4,last_call_timeout=1';

  /** Two launchers on this machine, each with its own wall clock. */
  async function startTwoNodes(
    backend: 'static' | 'c10d',
    script: readonly string[],
    more: readonly string[] = [],
  ) {
    const port = await freePort();
    return [0, 1].map((node) => {
      const { clock } = newFolder();
      const where =
        backend === 'c10d'
          ? ['--rdzv-backend', 'c10d', '--rdzv-endpoint', `localhost:${port}`]
          : ['--node-rank', String(node), '--master-addr', '127.0.0.1', '--master-port', String(port)];
      const args = ['--nnodes', '2', ...where, '--rdzv-conf', patience, ...more, ...script];
      return { clock, command: launch(args, { env: clock.env }) };
    });
  }

  test.skipIf(!isFull).each([
    { backend: 'c10d', moved: [0] },
    { backend: 'c10d', moved: [1] },
    { backend: 'static', moved: [0, 1] },
  ] as const)(
    'two launchers ($backend) whose clocks change ($moved) stay in their round',
    async ({ backend, moved }) => {
      const { folder } = newFolder();
      const nodes = await startTwoNodes(backend, [builtScript('faults/clock.script'), folder]);
      await Promise.all(nodes.map(({ command }) => command.sees(/rank \d works in round 0/)));
      for (const [i, node] of moved.entries()) {
        changes[i === 0 ? 'is set forward by an hour' : 'is set back by an hour'](nodes[node].clock);
      }
      say(folder, 'changed');
      for (const { command } of nodes) {
        const stderr = await endsWell(command);
        expect(stderr).toMatch(/round 1: starting 1 process/);
        expect(stderr).not.toMatch(/died|round 2|waiting|lease/);
      }
    },
  );
});

test('a library for LD_PRELOAD changes the wall clock only', { skip: problem !== undefined }, async () => {
  const { folder, clock } = newFolder();
  const path = join(folder, 'print.mjs');
  writeFileSync(path, 'console.log(JSON.stringify([Date.now(), performance.now()]))');
  clock.change(-hour);
  const job = launch([path], { env: clock.env });
  const [, line] = await job.sees(/^(\[.*\])$/m);
  await endsWell(job);
  const [wall, monotonic] = JSON.parse(line) as [number, number];
  expect(Math.abs(wall + hour - Date.now())).toBeLessThan(60_000);
  expect(monotonic).toBeLessThan(60_000);
  expect(readFileSync(join(folder, 'clock')).length).toBe(16);
});
