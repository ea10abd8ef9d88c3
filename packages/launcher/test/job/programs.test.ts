import { chmodSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ways } from '../../../../test/support/extent.ts';
import {
  command,
  isRunning,
  launch,
  temporaryFolder,
  temporaryScript,
  untilGone,
} from '../support/launched.ts';

describe('--no-node', () => {
  test.each(ways(['--no-node'], ['--no-python']))(
    '%s runs a program in PATH with its arguments',
    async (flag) => {
      const show = 'echo rank $RANK of $WORLD_SIZE at $MASTER_ADDR: $0 $1';
      const { code, stdout, stderr } = await launch(['--nproc', '2', flag, 'sh', '-c', show, 'a', '--b'])
        .ended;
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout.split('\n').sort()).toEqual([
        '',
        'rank 0 of 2 at 127.0.0.1: a --b',
        'rank 1 of 2 at 127.0.0.1: a --b',
      ]);
    },
  );

  test('resolves a path from the current folder and returns its exit code', async () => {
    const path = temporaryScript('train', '#!/bin/sh\necho ran; exit 7\n');
    chmodSync(path, 0o755);
    const { code, stdout, stderr } = await launch(['--no-node', './train'], { cwd: dirname(path) }).ended;
    expect([code, stdout]).toEqual([7, 'ran\n']);
    expect(stderr).toContain('exit code 7');
  });

  test.each([
    ['no-such-program', 'is not in PATH'],
    ['./no-such-program', 'does not exist'],
    ['/', 'is not a file'],
    ['./train', 'is not executable (chmod +x'],
  ])('%s is refused: it %s', async (name, says) => {
    const cwd = dirname(temporaryScript('train', '#!/bin/sh\necho RAN\n'));
    const { code, stdout, stderr } = await launch(['--no-node', name], { cwd }).ended;
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(`The program ${name} ${says}`);
  });
});

describe('a program', () => {
  test("receives torchrun's TORCHELASTIC_* variables", async () => {
    const show =
      'echo $TORCHELASTIC_RESTART_COUNT $TORCHELASTIC_MAX_RESTARTS $TORCHELASTIC_RUN_ID $TORCHELASTIC_USE_AGENT_STORE';
    const { stdout } = await launch(['--rdzv-id', 'job-7', '--no-node', 'sh', '-c', show]).ended;
    expect(stdout).toBe('0 0 job-7 False\n');
  });

  test('ends with all its processes when the launcher is killed', async () => {
    const stubborn = 'trap "" TERM; sleep 1000 & echo READY $$ $!; wait; wait';
    const launched = launch(['--nproc', '2', '--no-node', 'sh', '-c', stubborn]);
    const pids = (await launched.marked('READY', 2)).flat().map(Number);
    process.kill(launched.pid, 'SIGKILL');
    await untilGone(pids, 5000);
  });

  test('ends its guard process when it ends', async () => {
    const launched = launch(['--no-node', 'sh', '-c', 'echo READY $$; exec sleep 1000']);
    const [[worker]] = await launched.marked('READY', 1);
    const started = childrenOf(launched.pid);
    expect(started).toContain(Number(worker));
    expect(started).toHaveLength(2);
    process.kill(launched.pid, 'SIGTERM');
    expect((await launched.ended).code).toBe(143);
    expect(started.filter(isRunning)).toEqual([]);
  });

  test("is reported with its traceback if it records the error as torch's @record does", async () => {
    const traceback = 'Traceback (most recent call last):\n  File "train.py", line 3\nValueError: no data\n';
    const record = (message: string, callstack: string) =>
      temporaryScript(
        'error.json',
        JSON.stringify({ message: { message, extraInfo: { py_callstack: callstack, timestamp: '1' } } }),
      );
    // Rank 0 loses its peer only after the launcher has reaped rank 1, and ends by itself.
    const failed = join(temporaryFolder(), 'failed');
    const script = `
      if [ $RANK = 1 ]; then cp ${record('ValueError: no data', traceback)} $TORCHELASTIC_ERROR_FILE; ln -s $$ ${failed}; exit 1; fi
      trap '' TERM
      until [ -L ${failed} ]; do :; done
      while kill -0 $(readlink ${failed}) 2>/dev/null; do :; done
      cp ${record('RuntimeError: [1] Connection closed by peer', '?')} $TORCHELASTIC_ERROR_FILE; exit 1`;
    const { code, stderr } = await launch(['--nproc', '2', '--no-node', 'sh', '-c', script]).ended;
    expect(code).toBe(1);
    expect(stderr).toContain(
      '  Traceback (most recent call last):\n    File "train.py", line 3\n  ValueError: no data\n',
    );
    expect(stderr.trimEnd().split('\n').at(-1)).toMatch(
      /root cause: rank 1 .* exit code 1, ValueError: no data$/,
    );
  });

  test('is reported with the error of a script that it runs, if it is a shell', async () => {
    const path = temporaryScript(
      'train.mjs',
      "import { installErrorRecord } from 'ringrun'; installErrorRecord(); throw new TypeError('bad');",
    );
    const node = `${process.execPath} --import ${import.meta.resolve('../../dist/worker/own-packages.js')} ${path}; exit $?`;
    const { code, stderr } = await launch(['--no-node', 'sh', '-c', node]).ended;
    expect(code).toBe(1);
    expect(stderr.trimEnd().split('\n').at(-1)).toMatch(/root cause: rank 0 .* exit code 1, TypeError: bad$/);
  });
});

describe('-m', () => {
  /** Creates a folder with the package `trainer`, whose entry point is for `import` only. */
  function projectWithTrainer(): string {
    const folder = temporaryFolder();
    const home = join(folder, 'node_modules/trainer');
    mkdirSync(home, { recursive: true });
    const exports = { '.': { import: './main.mjs' }, './part': './part.mjs' };
    writeFileSync(join(home, 'package.json'), JSON.stringify({ name: 'trainer', exports }));
    writeFileSync(
      join(home, 'main.mjs'),
      "console.log('main', process.env.RANK, process.argv.slice(2).join());",
    );
    writeFileSync(join(home, 'part.mjs'), "console.log('part');");
    mkdirSync(join(folder, 'below'));
    return folder;
  }

  test("runs a package's entry point, found from the current folder upwards", async () => {
    const cwd = join(projectWithTrainer(), 'below');
    expect(await launch(['-m', 'trainer', '--epochs', '3'], { cwd }).ended).toMatchObject({
      code: 0,
      stdout: 'main 0 --epochs,3\n',
      stderr: '',
    });
  });

  test('runs a subpath of a package', async () => {
    const { stdout } = await launch(['--module', 'trainer/part'], { cwd: projectWithTrainer() }).ended;
    expect(stdout).toBe('part\n');
  });

  test.each([
    ['no-trainer', 'Package no-trainer not found from', "Cannot find package 'no-trainer'"],
    ['trainer/secret', 'Package trainer/secret not found from', '\'./secret\' is not defined by "exports"'],
    ['node:fs', '-m: expected a package, got node:fs', 'a built-in module'],
  ])('%s is refused', async (name, ...says) => {
    const { code, stdout, stderr } = await launch(['-m', name], { cwd: projectWithTrainer() }).ended;
    expect([code, stdout]).toEqual([2, '']);
    for (const words of says) expect(stderr).toContain(words);
  });
});

describe('a launcher started by a worker', () => {
  const nested = (args: string) => `
    import { spawnSync } from 'node:child_process';
    if (process.argv[2] === 'inner') console.log('INNER', process.env.RANK, process.env.WORLD_SIZE);
    else process.exitCode = spawnSync(process.execPath, [process.env.COMMAND, ${args} process.argv[1], 'inner'], { stdio: 'inherit' }).status;`;

  test('is refused', async () => {
    const path = temporaryScript('train.mjs', nested(''));
    const { code, stdout, stderr } = await launch(['--nproc', '2', path], { env: { COMMAND: command } })
      .ended;
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain("Another launcher's worker started this launcher (RINGRUN_RUN_ID is ");
    expect(stderr).toContain('pass --standalone');
  });

  test('runs with --standalone', async () => {
    const path = temporaryScript('train.mjs', nested("'--standalone',"));
    const { code, stdout } = await launch([path], { env: { COMMAND: command } }).ended;
    expect([code, stdout]).toEqual([0, 'INNER 0 1\n']);
  });
});

function childrenOf(parent: number): number[] {
  const pids = readdirSync('/proc').filter((entry) => /^\d+$/.test(entry));
  return pids.filter((pid) => parentOf(pid) === parent).map(Number);
}

function parentOf(pid: string): number | undefined {
  try {
    return Number(/^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  } catch {
    // The process ended after /proc was listed.
    return undefined;
  }
}
