import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findFreePort } from '../../src/host/ports.ts';
import { ways } from '../../../../test/support/extent.ts';
import { isRunning, launch, temporaryFolder, temporaryScript, untilGone } from '../support/launched.ts';

/** A worker that ignores SIGTERM, starts a child process that ignores it too, and prints both pids. */
const stubborn = `
import { spawn } from 'node:child_process';
process.on('SIGTERM', () => {});
const helper = spawn(process.execPath, ['-e', 'process.on("SIGTERM", () => {}); console.log("up"); setInterval(() => {}, 1e6)'],
  { stdio: ['ignore', 'pipe', 'inherit'] });
helper.stdout.once('data', () => console.log('READY', process.env.RANK, process.pid, helper.pid));
setInterval(() => {}, 1e6);
`;

/** Pids of the workers in the order of their ranks, then of their child processes. */
async function readyPids(
  launched: ReturnType<typeof launch>,
  count: number,
): Promise<{ workers: number[]; all: number[] }> {
  const lines = await launched.marked('READY', count);
  const sorted = lines.map((words) => words.map(Number)).sort((a, b) => a[0] - b[0]);
  return { workers: sorted.map((line) => line[1]), all: sorted.flatMap((line) => line.slice(1)) };
}

function lastLine(text: string): string {
  return text.trimEnd().split('\n').at(-1)!;
}

describe('a worker that fails', () => {
  test('kill -9: all processes end within 5 s; the last line names rank, signal and host', async () => {
    const launched = launch(['--nproc', '3', temporaryScript('train.mjs', stubborn)]);
    const { workers, all } = await readyPids(launched, 3);
    expect(all.filter(isRunning)).toHaveLength(6);
    process.kill(workers[1], 'SIGKILL');
    const tookMs = await untilGone([launched.pid, ...all], 5000);
    const { code, stderr } = await launched.ended;
    expect(tookMs).toBeGreaterThan(2000);
    expect(code).toBe(137);
    expect(lastLine(stderr)).toContain(
      `root cause: rank 1 on host ${hostname()} (pid ${workers[1]}, local rank 1)`,
    );
    expect(lastLine(stderr)).toContain('killed by SIGKILL (signal 9');
    expect(stderr).toContain('2 of 2 other ranks ended as a consequence');
    expect(stderr).toContain(
      `rank 0 (pid ${workers[0]}) did not end on SIGTERM and was killed by the launcher`,
    );
  });

  test('an error: reports code, message, stack and operation, and writes the termination log', async () => {
    const source = `
      if (process.env.RANK !== '2') { console.log('READY', process.env.RANK, process.pid); setInterval(() => {}, 1e6); }
      else setTimeout(() => { throw Object.assign(new RangeError('loss is NaN'), { operation: 'allReduce #41' }); }, 100);`;
    const terminationLog = join(temporaryFolder(), 'termination-log');
    writeFileSync(terminationLog, '');
    const started = performance.now();
    const { code, stderr } = await launch(['--nproc', '3', temporaryScript('train.mjs', source)], {
      env: { RINGRUN_TERMINATION_LOG: terminationLog },
    }).ended;
    expect(performance.now() - started).toBeLessThan(10_000);
    expect(code).toBe(1);
    expect(stderr).toMatch(/error of rank 2:\n {2}RangeError: loss is NaN\n {6}at .*train\.mjs:3/);
    expect(stderr).toContain('last operation: allReduce #41');
    expect(lastLine(stderr)).toMatch(/root cause: rank 2 .*exit code 1, RangeError: loss is NaN$/);
    const left = readFileSync(terminationLog, 'utf8');
    expect(lastLine(left)).toBe(lastLine(stderr));
    expect(stderr).toContain(left);
  });

  test('a rank that lost a peer is not the root cause, although it ended first', async () => {
    const source = `
      import { existsSync, writeFileSync } from 'node:fs';
      process.on('SIGTERM', () => {});
      const deaf = import.meta.dirname + '/rank-1-is-deaf';
      if (process.env.RANK === '1') {
        writeFileSync(deaf, '');
        setTimeout(() => process.kill(process.pid, 'SIGSEGV'), 500);
      } else setInterval(() => {
        if (existsSync(deaf)) throw Object.assign(new Error('rank 1 died'), { code: 'ERR_PEER_DIED' });
      }, 10);`;
    const { code, stderr } = await launch(['--nproc', '2', temporaryScript('train.mjs', source)]).ended;
    expect(code).toBe(139);
    expect(lastLine(stderr)).toMatch(/root cause: rank 1 .*killed by SIGSEGV \(signal 11/);
    expect(stderr).toMatch(/rank 0 \(pid \d+\) exited with code 1: Error: rank 1 died/);
  });

  test.each(ways([77], [3, 255]))("exit code %d is the launcher's exit code", async (exitCode) => {
    const source = `process.exit(process.env.RANK === '1' ? ${exitCode} : 0);`;
    const { code } = await launch(['--nproc', '2', temporaryScript('train.mjs', source)]).ended;
    expect(code).toBe(exitCode);
  });
});

test.each([
  [
    'module',
    'train.mjs',
    'const a = 1;\nconst b = ;\n',
    "SyntaxError: Unexpected token ';'",
    'PLACE:2:11',
    'const b = ;',
  ],
  [
    'import',
    'train.mjs',
    "import os from 'node:os';\nimport { none } from 'node:fs';\n",
    "SyntaxError: The requested module 'node:fs' does not provide an export named 'none'",
    'PLACE:2:10',
    "import { none } from 'node:fs';",
  ],
  [
    'transformed module',
    'train.ts',
    'const a: number = 1;\nconst b: = 2;\n',
    'Error: Transform failed with 1 error:',
    'PLACE:2:9: ERROR: Unexpected "="',
    'const b: = 2;',
  ],
])(
  'the root cause of a %s that does not compile has its place and its line',
  async (_, name, source, headline, place, line) => {
    const script = temporaryScript(name, source);
    const { stderr } = await launch(['--nproc', '2', script]).ended;
    const [root, ...where] = stderr.trimEnd().split('\n').slice(-3);
    expect(root).toMatch(/^ringrun: root cause: rank \d /);
    expect(root.endsWith(`exit code 1, ${headline}`), root).toBe(true);
    expect(where).toEqual([expect.stringMatching(/^ {2}(file:\/\/)?\S+$|ERROR/), `  ${line}`]);
    expect(where[0].replace('file://', '')).toBe(`  ${place.replace('PLACE', script)}`);
  },
);

describe('a worker that exits with 0', () => {
  test('does not stop the other workers', async () => {
    const source = `
      if (process.env.RANK === '1') process.exit(0);
      setTimeout(() => console.log('DONE'), 500);`;
    const { code, stdout, stderr } = await launch(['--nproc', '3', temporaryScript('train.mjs', source)])
      .ended;
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: 'DONE\nDONE\n', stderr: '' });
  });

  test('ends together with its child processes', async () => {
    const source = `
      import { spawn } from 'node:child_process';
      const helper = spawn('sleep', ['1000'], { stdio: 'ignore' });
      helper.unref();
      console.log('HELPER', helper.pid);`;
    const launched = launch([temporaryScript('train.mjs', source)]);
    const [[helper] = []] = await launched.marked('HELPER', 1);
    expect((await launched.ended).code).toBe(0);
    expect(isRunning(Number(helper))).toBe(false);
  });
});

describe('a launcher that is killed', () => {
  test('ends its workers, even if they block the event loop, and their child processes', async () => {
    const source = stubborn.replace(
      'setInterval(() => {}, 1e6);\n',
      "helper.stdout.once('data', () => setImmediate(() => { for (;;); }));\n",
    );
    expect(source).not.toBe(stubborn);
    const launched = launch(['--nproc', '2', temporaryScript('train.mjs', source)]);
    const { all } = await readyPids(launched, 2);
    expect(all.filter(isRunning)).toHaveLength(4);
    process.kill(launched.pid, 'SIGKILL');
    await untilGone([launched.pid, ...all], 5000);
    const { stderr } = await launched.ended;
    expect(stderr).toContain(`ends because its launcher (pid ${launched.pid}) has ended`);
  });

  test('during the start of its workers is named by them with its pid', async () => {
    const folder = temporaryFolder();
    const slow = join(folder, 'slow.cjs');
    // Runs before the module with which the worker watches its launcher.
    writeFileSync(
      slow,
      `const { existsSync, writeFileSync } = require('node:fs');
      if (process.env.RANK !== undefined) {
        writeFileSync(${JSON.stringify(folder)} + '/starts', '');
        const cell = new Int32Array(new SharedArrayBuffer(4));
        while (!existsSync(${JSON.stringify(folder)} + '/continue')) Atomics.wait(cell, 0, 0, 10);
      }`,
    );
    const launched = launch([temporaryScript('train.mjs', 'setInterval(() => {}, 1e6);')], {
      env: { NODE_OPTIONS: `--require=${slow}` },
    });
    await expect.poll(() => readdirSync(folder), { timeout: 20_000 }).toContain('starts');
    process.kill(launched.pid, 'SIGKILL');
    await untilGone([launched.pid], 5000);
    writeFileSync(join(folder, 'continue'), '');
    const { stderr } = await launched.ended;
    expect(stderr).toMatch(
      new RegExp(
        `^ringrun: rank 0 \\(pid \\d+\\) ends because its launcher \\(pid ${launched.pid}\\) ended before this worker had started\n$`,
      ),
    );
  });

  test('without workers: the next launcher removes its temporary folder, and no other', async () => {
    const TMPDIR = temporaryFolder();
    const script = temporaryScript('train.mjs', '');
    const waiting = async () => {
      const before = new Set(readdirSync(TMPDIR));
      const args = ['--nnodes', '2', '--node-rank', '0', '--master-port', String(await findFreePort())];
      const launched = launch([...args, script], { env: { TMPDIR } });
      const added = () => readdirSync(TMPDIR).filter((name) => !before.has(name));
      await expect.poll(added, { timeout: 20_000 }).toEqual([expect.stringMatching(/^ringrun-/)]);
      return { launched, folder: added()[0] };
    };
    const [living, killed] = [await waiting(), await waiting()];
    const otherContainer = living.folder.replace(/-[\da-f]{8}-/, '-00000000-').replace(/\d+/, '1');
    mkdirSync(join(TMPDIR, otherContainer));
    process.kill(killed.launched.pid, 'SIGKILL');
    await killed.launched.ended;
    expect(readdirSync(TMPDIR)).toContain(killed.folder);
    expect(await launch([script], { env: { TMPDIR } }).ended).toMatchObject({ code: 0, stderr: '' });
    expect(readdirSync(TMPDIR).sort()).toEqual([living.folder, otherContainer].sort());
  });
});
