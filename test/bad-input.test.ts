import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { builtScript } from './support/built-script.ts';
import { launch, node } from './support/command.ts';
import type { Command } from './support/command.ts';
import { compiledExample } from './support/compiled-example.ts';
import { ways } from './support/extent.ts';
import { freePort } from './support/free-port.ts';
import { syntheticMnist } from './support/synthetic-mnist.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

const maxLines = 24;
const maxSeconds = 15;
const joinScript = builtScript('fixtures/join');
const mnistScript = compiledExample('examples-mnist');

/** Resolves with the stderr of `command` after checking that it ended as with a user mistake. */
async function refusal(command: Command, exitCode: 1 | 2): Promise<string> {
  const startedAt = performance.now();
  const { code, stdout, stderr, left, timedOut } = await command.ended;
  expect({ code, stdout, left, timedOut }).toEqual({ code: exitCode, stdout: '', left: [], timedOut: false });
  expect((performance.now() - startedAt) / 1000).toBeLessThan(maxSeconds);
  return stderr;
}

function lineCount(text: string): number {
  return text.trimEnd().split('\n').length;
}

describe('the command line', () => {
  test.each([
    {
      args: ['--nproc', '0', 'train.ts'],
      words: ["'--nproc <n>'", "'0' is invalid", 'processes of at least 1, auto, cpu or gpu'],
    },
    { args: ['--nprok', '2', 'train.ts'], words: ["unknown option '--nprok'", '(Did you mean --nproc?)'] },
    { args: ['--nproc', '2', 'nowhere.ts'], words: ['The script nowhere.ts does not exist', 'path from /'] },
    { args: ['--nproc', '2', 'test'], words: ['The script test is not a file, but a folder'] },
    { args: ['--nproc', '2'], words: ["missing required argument 'script'"] },
    {
      args: ['--nproc', '99999999999', 'launch.js'],
      words: ['--nproc-per-node: expected at most', 'got 99999999999'],
    },
    { args: ['--nproc', '1000000', 'launch.js'], words: ['expected at most', 'each process needs at least'] },
    { args: ['x'.repeat(100_000)], words: ['cannot be found (ENAMETOOLONG)', '(100000 characters)'] },
    {
      args: ['--nproc', '2', '-r', '5:1', 'launch.js'],
      words: ['--redirects: expected local ranks from 0 to 1, got 5'],
    },
    {
      args: ['--local-ranks-filter', '0,9', 'launch.js'],
      words: ['--local-ranks-filter: expected local ranks 0, the only one on this node, got 9'],
    },
  ])('node launch $args', async ({ args, words }) => {
    const stderr = await refusal(launch(args), 2);
    expect(stderr).toMatch(/^ringrun: /);
    for (const word of words) expect(stderr).toContain(word);
    expect(lineCount(stderr)).toBeLessThanOrEqual(4);
  });

  test('an example rejects a file as --output at its start, in one line without a launcher', async () => {
    const script = 'packages/examples-mnist/train.ts';
    const args = ['--import', 'ringrun/typescript', script, '--output', 'README.md'];
    const stderr = await refusal(node(args), 1);
    expect(stderr).toContain(
      "option '--output <location>' argument 'README.md' is invalid. Expected a folder, got a file.",
    );
    expect(lineCount(stderr)).toBe(1);
  });

  test('an unknown option of the script: the error suggests the nearest one', async () => {
    const stderr = await refusal(launch(['--nproc', '2', mnistScript, '--epoch', '3']), 1);
    expect(stderr).toContain("unknown option '--epoch'\n(Did you mean --epochs?)");
    expect(stderr).toMatch(/root cause: rank [01] .*: exit code 1.*\n$/);
    expect(lineCount(stderr)).toBeLessThanOrEqual(maxLines);
  });
});

describe('the environment', () => {
  test.each([
    { env: { RANK: 'abc', WORLD_SIZE: 2 }, words: 'RANK is "abc", expected an integer of at least 0' },
    { env: { RANK: 0, WORLD_SIZE: 0 }, words: 'WORLD_SIZE is "0", expected an integer from 1 to 1048576' },
    {
      env: { RANK: 0, WORLD_SIZE: 100_000_000 },
      words: 'WORLD_SIZE is "100000000", expected an integer from 1 to 1048576',
    },
    {
      env: { RANK: 1, WORLD_SIZE: 2, MASTER_ADDR: 'a:b:c' },
      words: 'MASTER_ADDR is "a:b:c", expected a host name or an IP address',
    },
    {
      env: { RANK: 2, WORLD_SIZE: 2 },
      words: 'RANK is 2 and WORLD_SIZE is 2, expected a RANK from 0 to 1',
    },
    { env: { WORLD_SIZE: 2 }, words: 'WORLD_SIZE is 2, but RANK is not set' },
  ])('$env', async ({ env, words }) => {
    const stderr = await refusal(node([joinScript], { env }), 1);
    expect(stderr).toContain(`ringrun: ${words}`);
    expect(lineCount(stderr)).toBe(1);
  });
});

describe('a folder that the system refuses to create with ENOENT (/proc/x)', () => {
  const [place, limitMs] = ['/proc/ringrun/x', 20_000];

  test('makes every writer fail, and so does a dangling link for a FileStore', async () => {
    const args = [builtScript('bad-input.script'), place, temporaryFolder()];
    const { stdout, timedOut } = await node(args, { limitMs }).ended;
    expect({ stdout: stdout.replaceAll(/: ENOENT: .*/g, ': ENOENT'), timedOut }).toEqual({
      stdout: expect.stringMatching(
        new RegExp(
          `^Checkpointer: ERR_CHECKPOINT_NOT_WRITTEN: .* writing ${place}/checkpoint-000001-step-1/.*: not found .*\n` +
            'SummaryWriter: ENOENT\nprofile: ERR_INVALID_ARGUMENT: .*ENOENT.*\ntfjs: ENOENT\n' +
            'FileStore: ERR_STORE_FILE: .* is a link to .*/nowhere/store, which does not exist.*\n$',
        ),
      ) as unknown,
      timedOut: false,
    });
  });

  test('makes --log-dir fail', async () => {
    const args = ['--nproc', '1', '-r', '3', '--log-dir', place, joinScript];
    const stderr = await refusal(launch(args, { limitMs }), 1);
    expect(stderr).toContain(`Cannot create a folder for the output of the workers in ${place}: ENOENT`);
  });
});

describe('a job that waits for its last rank', () => {
  /**
   * Ranks 0 and 1 of 3 wait. `finish` adds the last one and checks that all exit with 0, unaffected by events in
   * between.
   */
  async function waitingJob() {
    const port = await freePort();
    const env = { WORLD_SIZE: 3, MASTER_ADDR: '127.0.0.1', MASTER_PORT: port };
    const rank = (number: number) => node([joinScript], { env: { ...env, RANK: number } });
    const ranks = [rank(0), rank(1)];
    await ranks[0].sees(/waiting for rank 2 to join/);
    const finish = async () => {
      for (const [number, command] of [...ranks, rank(2)].entries()) {
        expect(await command.ended).toMatchObject({ code: 0, stdout: `rank ${number} of 3: sum 6\n` });
      }
    };
    return { port, rank, pids: ranks.map(({ pid }) => pid), finish };
  }

  test('refuses a second process with the same rank, and another job on its port; names both', async () => {
    const { port, rank, pids, finish } = await waitingJob();
    const second = rank(1);
    const stderr = await refusal(second, 1);
    expect(stderr).toContain('ERR_RANK_TAKEN');
    for (const pid of [pids[1], second.pid]) expect(stderr).toContain(`process ${pid} on ${hostname()}`);
    expect(lineCount(stderr)).toBeLessThanOrEqual(maxLines);
    const holder = new RegExp(`in use by process ${pids[0]} \\(.*join\\.js\\)`);
    const launched = await refusal(launch(['--nproc', '2', '--master-port', String(port), joinScript]), 1);
    expect(launched).toMatch(holder);
    expect(launched).toContain(`ringrun: --master-port ${port}`);
    expect(lineCount(launched)).toBeLessThanOrEqual(2);
    const env = { RANK: 0, WORLD_SIZE: 2, MASTER_ADDR: '127.0.0.1', MASTER_PORT: port };
    const alone = await refusal(node([joinScript], { env }), 1);
    expect(alone).toMatch(holder);
    expect(alone).toContain('ERR_PORT_IN_USE');
    expect(lineCount(alone)).toBeLessThanOrEqual(maxLines);
    await finish();
  });
});

describe('the data', () => {
  const good = syntheticMnist({ train: 200, test: 50 });
  const trainImages = 'train-images-idx3-ubyte.gz';

  /** A copy of the valid files with changed training images. */
  function damaged(damage: (file: Buffer) => Uint8Array): string {
    const folder = temporaryFolder();
    cpSync(good, folder, { recursive: true });
    writeFileSync(join(folder, trainImages), damage(readFileSync(join(good, trainImages))));
    return folder;
  }

  /** packages/runtime detects invalid files; its tests have these cases too. */
  const otherCases = [
    {
      name: 'a gzip file with a wrong byte',
      folder: damaged((file) => {
        const changed = Uint8Array.from(file);
        changed[file.length >> 1] ^= 0xff;
        return changed;
      }),
      words: /train-images-idx3-ubyte\.gz: its gzip data is corrupt or incomplete \(.+\)/,
    },
    {
      name: 'a whole gzip file of too few images',
      folder: damaged((file) => gzipSync(gunzipSync(file).subarray(0, -1000))),
      words:
        /train-images-idx3-ubyte\.gz: it is truncated: its header says 200 x 28 x 28 = 156800 bytes, and 155800 follow/,
    },
    {
      name: 'a gzip file of something else',
      folder: damaged(() => gzipSync('<html>404</html>')),
      words: /train-images-idx3-ubyte\.gz: it is not an IDX file/,
    },
  ];

  const fewCases = [
    {
      name: 'a gzip file that ends too early',
      folder: damaged((file) => file.subarray(0, file.length / 2)),
      words: /train-images-idx3-ubyte\.gz: its gzip data is corrupt or incomplete \(unexpected end of file\)/,
    },
    {
      name: 'a folder that does not exist',
      folder: join(good, 'nowhere'),
      words:
        /nowhere: it has no train-images-idx3-ubyte, .*Pass --data with a folder or s3:\/\/bucket\/prefix that has MNIST's four files/,
    },
  ];

  test.each([
    {
      args: ['--data', join(good, 'nowhere')],
      words: /^ringrun: .*nowhere: it has no train-images-idx3-ubyte, /,
    },
    {
      args: ['--data', good, '--output', temporaryFolder(), '--resume', 'checkpoint-000001-step-9'],
      words:
        /^ringrun: Checkpointer\.resume\("checkpoint-000001-step-9"\): expected a complete checkpoint at .*checkpoint-000001-step-9, but no rank sees its manifest/,
    },
  ])('$args.0 that cannot work is one line without a launcher', async ({ args, words }) => {
    const stderr = await refusal(node([mnistScript, ...args]), 1);
    expect(stderr).toMatch(words);
    expect(lineCount(stderr)).toBe(1);
  });

  test.each(ways(fewCases, otherCases))('$name', async ({ folder, words }) => {
    const stderr = await refusal(launch(['--nproc', '2', mnistScript, '--data', folder]), 1);
    expect(lineCount(stderr)).toBeLessThanOrEqual(maxLines);
    const lastLine = stderr.trimEnd().split('\n').at(-1);
    expect(lastLine).toMatch(/^ringrun: root cause: rank [01] on host .*: exit code 1, InvalidDataError: /);
    expect(lastLine).toMatch(words);
  });
});
