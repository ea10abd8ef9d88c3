import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { describe, expect, onTestFinished, test } from 'vitest';
import { launch, temporaryFolder, temporaryScript } from '../support/launched.ts';

describe('an invalid command line', () => {
  const script = '<script>';
  test.each<[args: string[], says: string[]]>([
    [
      ['--nproc', '0', script],
      ['--nproc', "'0'", 'a number of processes of at least 1, auto, cpu or gpu'],
    ],
    [
      ['--nproc', 'x', script],
      ['--nproc', "'x'", 'a number of processes of at least 1, auto, cpu or gpu'],
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
    [['/'], ['/ is not a file, but a folder']],
    [[], ["missing required argument 'script'"]],
  ])('%j: exit code 2 and at most 5 lines', async (args, says) => {
    const path = temporaryScript('never-run.mjs', 'console.log("RAN");');
    const { code, stdout, stderr } = await launch(args.map((arg) => (arg === script ? path : arg))).ended;
    expect(code).toBe(2);
    expect(stdout).toBe('');
    for (const words of says) expect(stderr).toContain(words);
    expect(stderr.split('\n').length).toBeLessThan(6);
  });

  test('refuses a script in another language and lists the known extensions', async () => {
    const { code, stderr } = await launch([temporaryScript('train.py', 'print("hello")')]).ended;
    expect(code).toBe(2);
    expect(stderr).toContain('expected a file of the type .ts, .mts, .cts, .js, .mjs, .cjs');
  });

  test('refuses a master port in use and names the process that holds it', async () => {
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

test('--help and --version print to stdout with exit code 0', async () => {
  const [help, version] = await Promise.all([launch(['--help']).ended, launch(['--version']).ended]);
  expect(help.code).toBe(0);
  expect(help.stdout).toContain('Usage: ringrun [options] <script> [arguments of the script]');
  expect(version).toMatchObject({ code: 0, stderr: '' });
  expect(version.stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});

test('resolves a path from the current folder', async () => {
  const cwd = temporaryFolder();
  writeFileSync(`${cwd}/here.mjs`, 'console.log(process.cwd());');
  const { code, stdout } = await launch(['here.mjs'], { cwd }).ended;
  expect([code, stdout]).toEqual([0, `${cwd}\n`]);
});
