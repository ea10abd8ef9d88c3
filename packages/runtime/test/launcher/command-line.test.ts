import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parseCommandLine } from '../../src/launcher/options.ts';
import { launch, temporaryFolder, temporaryScript } from './fixtures/launched.ts';

describe('what the command line means', () => {
  test('without options: one process, a free port, 30 s of grace, as torchrun', () => {
    expect(parseCommandLine(['train.ts'])).toEqual({
      script: 'train.ts',
      scriptArguments: [],
      processesPerNode: 1,
      masterAddress: '127.0.0.1',
      masterPort: undefined,
      gracePeriodMs: 30_000,
    });
  });

  test.each([
    [['--nproc', '2', 'a.js']],
    [['--nproc=2', 'a.js']],
    [['--nproc-per-node', '2', 'a.js']],
    [['--nproc_per_node', '2', 'a.js']],
    [['--nproc_per_node=2', 'a.js']],
  ])('%j starts two processes', (argv) => {
    expect(parseCommandLine(argv)).toMatchObject({ processesPerNode: 2, script: 'a.js' });
  });

  test.each(['auto', 'cpu'])('--nproc %s is left to the CPUs', (text) => {
    expect(parseCommandLine(['--nproc', text, 'a.js']).processesPerNode).toBe('auto');
  });

  test('what follows the script belongs to the script, underscores, help and all', () => {
    const options = parseCommandLine([
      '--master_port',
      '1234',
      'a_b.ts',
      '--nproc',
      '3',
      '--batch_size=4',
      '--help',
      '--',
      '-x',
    ]);
    expect(options).toMatchObject({ processesPerNode: 1, masterPort: 1234, script: 'a_b.ts' });
    expect(options.scriptArguments).toEqual(['--nproc', '3', '--batch_size=4', '--help', '--', '-x']);
  });

  test('values of options keep their underscores', () => {
    expect(parseCommandLine(['--master-addr', 'my_host', '--grace_period', '7', 'a.js'])).toMatchObject({
      masterAddress: 'my_host',
      gracePeriodMs: 7000,
    });
  });
});

describe('a command line that cannot work', () => {
  const script = '<script>';
  test.each<[args: string[], says: string[]]>([
    [
      ['--nproc', '0', script],
      ['--nproc', "'0'", 'a number of processes from 1, or auto'],
    ],
    [
      ['--nproc', 'x', script],
      ['--nproc', "'x'", 'a number of processes from 1, or auto'],
    ],
    [['--nproc', '1.5', script], ["'1.5'"]],
    [['--nproc', '-1', script], ["'-1'"]],
    [
      ['--nprok', '2', script],
      ['--nprok', 'Did you mean --nproc?'],
    ],
    [
      ['--master-port', '65536', script],
      ["'65536'", 'from 1 to 65535'],
    ],
    [
      ['--grace-period', 'soon', script],
      ["'soon'", 'seconds'],
    ],
    [['no-such-script.ts'], ['no-such-script.ts does not exist']],
    [['/'], ['/ is not a file']],
    [[], ["missing required argument 'script'"]],
  ])('%j is refused with exit code 2 on a few lines', async (args, says) => {
    const path = temporaryScript('never-run.mjs', 'console.log("RAN");');
    const { code, stdout, stderr } = await launch(args.map((arg) => (arg === script ? path : arg))).ended;
    expect(code).toBe(2);
    expect(stdout).toBe('');
    for (const words of says) expect(stderr).toContain(words);
    expect(stderr.split('\n').length).toBeLessThan(6);
  });

  test('a script in another language is refused with what Node runs', async () => {
    const { code, stderr } = await launch([temporaryScript('train.py', 'print("hello")')]).ended;
    expect(code).toBe(2);
    expect(stderr).toContain('expected .ts, .mts, .cts, .js, .mjs, .cjs');
  });

  test('a master port that is taken is refused with the process that has it', async () => {
    const server = createServer().listen(0);
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const path = temporaryScript('never-run.mjs', 'console.log("RAN");');
    const { code, stdout, stderr } = await launch(['--master-port', String(port), path]).ended;
    expect(code).toBe(1);
    expect(stdout).toBe('');
    expect(stderr).toContain(`--master-port ${port} is in use by process ${process.pid} `);
  });
});

test('--help and --version go to stdout with exit code 0', async () => {
  const [help, version] = await Promise.all([launch(['--help']).ended, launch(['--version']).ended]);
  expect(help.code).toBe(0);
  expect(help.stdout).toContain('Usage: ringrun [options] <script> [arguments of the script]');
  expect(version).toMatchObject({ code: 0, stderr: '' });
  expect(version.stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});

test('a path is taken from the current folder', async () => {
  const cwd = temporaryFolder();
  writeFileSync(`${cwd}/here.mjs`, 'console.log(process.cwd());');
  const { code, stdout } = await launch(['here.mjs'], { cwd }).ended;
  expect([code, stdout]).toEqual([0, `${cwd}\n`]);
});
