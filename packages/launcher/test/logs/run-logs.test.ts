import { spawn } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { command, launch, temporaryFolder, temporaryScript } from '../support/launched.ts';

const speak = `
  console.log('out of', process.env.RANK);
  console.error('err of', process.env.RANK);
  process.stdout.write('last words');
  process.kill(process.pid, 'SIGKILL');`;

const quiet = speak.replace('process.kill', '() => process.kill');
const inLines = quiet.replace('last words', 'last words\\n');

/** Returns the folder of the only run in `directory`. */
function onlyRun(directory: string): string {
  const runs = readdirSync(directory);
  expect(runs).toHaveLength(1);
  return join(directory, runs[0]);
}

const sorted = (text: string) => text.split('\n').filter(Boolean).sort();

test("--redirects 3 writes torch's files and prints their folder, but no output", async () => {
  const directory = join(temporaryFolder(), 'new/folder');
  const args = [
    '--nproc',
    '2',
    '-r',
    '3',
    '--log-dir',
    directory,
    '--rdzv-id',
    'my/job',
    temporaryScript('a.mjs', quiet),
  ];
  const { code, stdout, stderr } = await launch(args).ended;
  const run = onlyRun(directory);
  expect({ code, stdout, stderr }).toEqual({
    code: 0,
    stdout: '',
    stderr: `ringrun: writing the output of the workers to ${run}\n`,
  });
  expect(run).toMatch(/\/my-job_\w{6}$/);
  expect(readdirSync(run)).toEqual(['attempt_0']);
  for (const rank of [0, 1]) {
    const folder = join(run, 'attempt_0', String(rank));
    expect(readFileSync(join(folder, 'stdout.log'), 'utf8')).toBe(`out of ${rank}\nlast words`);
    expect(readFileSync(join(folder, 'stderr.log'), 'utf8')).toBe(`err of ${rank}\n`);
  }
});

test('--tee 3 writes files and prints each line with its rank, even from a dying worker', async () => {
  const directory = temporaryFolder();
  const { code, stdout, stderr } = await launch([
    '-t',
    '3',
    '--role',
    'trainer',
    '--log-dir',
    directory,
    temporaryScript('a.mjs', speak),
  ]).ended;
  expect(code).toBe(137);
  expect(stdout).toBe('[trainer0]:out of 0\n[trainer0]:last words\n');
  expect(stderr).toContain('[trainer0]:err of 0\n');
  expect(stderr.trimEnd().split('\n').at(-1)).toContain('killed by SIGKILL');
  const files = join(onlyRun(directory), 'attempt_0/0');
  expect(readFileSync(join(files, 'stdout.log'), 'utf8')).toBe('out of 0\nlast words');
});

test('--tee of one rank with a filter hides other ranks on the console, not in files', async () => {
  const directory = temporaryFolder();
  const args = ['--nproc', '3', '-t', '0:1,1:1', '--local-ranks-filter', '1,2', '--log-dir', directory];
  const { code, stdout, stderr } = await launch([...args, temporaryScript('a.mjs', inLines)]).ended;
  expect(code).toBe(0);
  // Output written directly to the console has no prefix.
  expect(sorted(stdout)).toEqual(['[default1]:last words', '[default1]:out of 1', 'last words', 'out of 2']);
  expect(sorted(stderr).filter((line) => line.startsWith('err'))).toEqual(['err of 1', 'err of 2']);
  const attempt = join(onlyRun(directory), 'attempt_0');
  expect(readFileSync(join(attempt, '0/stdout.log'), 'utf8')).toBe('out of 0\nlast words\n');
  expect(existsSync(join(attempt, '2'))).toBe(false);
});

test('each attempt has its own folder', async () => {
  const directory = temporaryFolder();
  const script = temporaryScript(
    'a.mjs',
    "const attempt = process.env.RINGRUN_RESTART_COUNT; console.log('attempt', attempt); process.exit(attempt === '0' ? 3 : 0);",
  );
  const { code, stdout } = await launch(['-t', '1', '--max-restarts', '1', '--log-dir', directory, script])
    .ended;
  expect([code, stdout]).toEqual([0, '[default0]:attempt 0\n[default0]:attempt 1\n']);
  const run = onlyRun(directory);
  const texts = [0, 1].map((number) => readFileSync(join(run, `attempt_${number}/0/stdout.log`), 'utf8'));
  expect(texts).toEqual(['attempt 0\n', 'attempt 1\n']);
});

test('writes to the temporary folder without --log-dir', async () => {
  const folder = temporaryFolder();
  const { code } = await launch(['-r', '1', temporaryScript('a.mjs', quiet)], { env: { TMPDIR: folder } })
    .ended;
  expect(code).toBe(0);
  const runs = readdirSync(folder).filter((name) => name.startsWith('ringrun_'));
  expect(runs).toHaveLength(1);
  expect(readFileSync(join(folder, runs[0], 'attempt_0/0/stdout.log'), 'utf8')).toBe('out of 0\nlast words');
});

test('names the file with the output if a worker exits without an error record', async () => {
  const directory = temporaryFolder();
  const script = temporaryScript('a.mjs', "console.error('why'); process.exit(4);");
  const { code, stderr } = await launch(['-r', '2', '--log-dir', directory, script]).ended;
  expect(code).toBe(4);
  expect(stderr).toContain(`see its output in ${join(onlyRun(directory), 'attempt_0/0/stderr.log')}`);
});

test('refuses a folder that cannot be created before any worker starts', async () => {
  const file = temporaryScript('file', '');
  const { code, stdout, stderr } = await launch([
    '-r',
    '3',
    '--log-dir',
    file,
    temporaryScript('a.mjs', quiet),
  ]).ended;
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toContain(`output of the workers in ${file}: EEXIST`);
  expect(stderr).toContain('Pass another --log-dir');
});

test(
  "a blocked console blocks no process, and the launcher's memory stays constant",
  { timeout: 60_000 },
  async () => {
    const megabytes = 48;
    const directory = temporaryFolder();
    const done = join(directory, 'done');
    const script = temporaryScript(
      'a.mjs',
      `import { writeFileSync } from 'node:fs';
    const block = Array.from({ length: 8192 }, (_, i) => String(i).padStart(127, '.') + '\\n').join('');
    for (let i = 0; i < ${megabytes}; i += 1) process.stdout.write(block);
    writeFileSync(${JSON.stringify(done)}, '');
    process.on('SIGTERM', () => process.exit(0));
    setInterval(() => {}, 1e6);`,
    );
    const child = spawn(
      process.execPath,
      [command, '-t', '1', '--log-dir', join(directory, 'logs'), script],
      {
        stdio: ['ignore', 'pipe', 'ignore'],
      },
    );
    const ended = new Promise((resolve) => child.once('close', resolve));
    onTestFinished(async () => {
      child.kill('SIGKILL');
      await ended;
    });
    await expect.poll(() => existsSync(done), { timeout: 30_000 }).toBe(true);

    // The launcher handles signals although its console is full.
    child.kill('SIGTERM');
    const before = peakBytes(child.pid!);
    let bytes = 0;
    let lines = 0;
    child.stdout.on('data', (data: Buffer) => {
      bytes += data.length;
      lines += data.toString('latin1').split('\n').length - 1;
      peak = Math.max(peak, peakBytes(child.pid!) ?? 0);
    });
    let peak = before ?? 0;
    expect(await ended).toBe(143);
    expect(lines).toBe(megabytes * 8192);
    expect(bytes).toBe(megabytes * 8192 * (128 + '[default0]:'.length));
    const run = onlyRun(join(directory, 'logs'));
    expect(statSync(join(run, 'attempt_0/0/stdout.log')).size).toBe(megabytes * 1024 * 1024);
    expect(peak).toBeGreaterThan(0);
    expect(peak - before!).toBeLessThan((megabytes / 2) * 1024 * 1024);
  },
);

/** VmHWM of a process; undefined after its end. */
function peakBytes(pid: number): number | undefined {
  try {
    const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
  } catch {
    return undefined;
  }
}
