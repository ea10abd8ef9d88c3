import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { StoreServer } from '../../../rendezvous/src/store/server.ts';
import { freePort } from '../../../../test/support/free-port.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { start } from '../../../rendezvous/test/store/processes.ts';
import type { TestProcess } from '../../../rendezvous/test/store/processes.ts';

/** Starts ranks as a user does in terminals: the script sets rank, world size and init method. */
function terminals(initMethod: string, worldSize: number) {
  return (rank: number, args: string[] = [], more: Record<string, string | number> = {}) =>
    start(
      new URL('two-terminals.script.ts', import.meta.url),
      { INIT_METHOD: initMethod, TEST_RANK: rank, TEST_WORLD_SIZE: worldSize, ...more },
      args,
    );
}

function inFile(worldSize: number) {
  const path = join(temporaryFolder(), 'a store file');
  return { path, rank: terminals(pathToFileURL(path).href, worldSize) };
}

async function haveMet(children: readonly TestProcess[]): Promise<void> {
  const sum = (children.length * (children.length + 1)) / 2;
  for (const child of children) {
    expect(await child.ended, child.output().stderr).toEqual({ code: 0, signal: null });
    expect(child.output().stdout).toContain(`sum ${sum}\n`);
  }
}

describe('tcp://', () => {
  test('rank 1 first, then rank 0, which serves the store', async () => {
    const rank = terminals(`tcp://127.0.0.1:${await freePort()}`, 2);
    const one = rank(1);
    await one.sees(/waiting for the store at .* refuses the connection/);
    await haveMet([rank(0), one]);
  });

  test('rank and world size in the URL', async () => {
    const port = await freePort();
    const children = [0, 1].map((rank) =>
      start(new URL('two-terminals.script.ts', import.meta.url), {
        INIT_METHOD: `tcp://127.0.0.1:${port}?rank=${rank}&world_size=2`,
      }),
    );
    await haveMet(children);
  });
});

test('the tasks of a Slurm step, without a launcher', async () => {
  const job = { SLURM_NTASKS: 2, SLURM_JOB_NODELIST: '127.0.0.1', MASTER_PORT: await freePort() };
  const tasks = [0, 1].map((task) =>
    start(new URL('two-terminals.script.ts', import.meta.url), {
      ...{ ...job, SLURM_PROCID: task, SLURM_LOCALID: task, INIT_METHOD: 'env://' },
    }),
  );
  await haveMet(tasks);
});

describe('file://', () => {
  test.each([
    [0, 1],
    [1, 0],
  ])(
    'rank %d first, which names the missing rank; then rank %d; the file is removed',
    async (first, second) => {
      const { path, rank } = inFile(2);
      const early = rank(first);
      await early.sees(new RegExp(`rank ${first}: waiting for rank ${second} to join, in the file ${path}`));
      await haveMet([early, rank(second)]);
      expect(existsSync(path)).toBe(false);
    },
  );

  test('a second run with the same path right after the first; several groups in one run', async () => {
    const { path, rank } = inFile(2);
    const first = [rank(0, ['again']), rank(1, ['again'])];
    await Promise.race(first.map((child) => child.sees(/met again/)));
    const second = [rank(0), rank(1)];
    await haveMet([...first]);
    await haveMet([...second]);
    expect(existsSync(path)).toBe(false);
  });

  test('a run after a killed one works, and prints one line about it', async () => {
    const { path, rank } = inFile(2);
    const killed = rank(0);
    await killed.sees(/waiting for rank 1 to join/);
    killed.kill('SIGKILL');
    await killed.ended;
    const next = [rank(0), rank(1)];
    await haveMet(next);
    const said = next.map((child) => child.output().stderr).join('');
    expect(said).toBe(
      `ringrun: clearing the file ${path}, which was left by a killed run (process ${killed.pid} on ${hostname()})\n`,
    );
  });

  test('a run whose processes ended without leaving counts as killed', async () => {
    const { rank } = inFile(2);
    await haveMet([rank(0, ['exit']), rank(1, ['exit'])]);
    await haveMet([rank(0), rank(1)]);
  });

  test('refuses a rank that is taken; the right rank can still join', async () => {
    const { rank } = inFile(2);
    const zero = rank(0);
    await zero.sees(/waiting for rank 1 to join/);
    const wrong = rank(0);
    expect((await wrong.ended).code).toBe(1);
    expect(wrong.output().stderr).toContain('ERR_RANK_TAKEN');
    await haveMet([zero, rank(1)]);
  });

  test('names the missing rank at the timeout, and leaves no file', async () => {
    const { path, rank } = inFile(2);
    const zero = rank(0, [], { TEST_TIMEOUT_MS: 600 });
    expect((await zero.ended).code).toBe(1);
    expect(zero.output().stderr).toContain('Rank 0 of 2 waited 600 ms for rank 1 to join');
    expect(existsSync(path)).toBe(false);
  });

  test('works with RINGRUN_TRANSPORT=tcp, which needs the address of rank 0', async () => {
    const { rank } = inFile(2);
    const env = { RINGRUN_TRANSPORT: 'tcp' };
    await haveMet([rank(0, [], env), rank(1, [], env)]);
  });
});

test('uses a store that the program passed, and leaves it open', async () => {
  const server = await StoreServer.bind({ host: '127.0.0.1', port: 0 });
  onTestFinished(() => server.close());
  const rank = terminals('', 2);
  const env = { STORE_PORT: server.port };
  const children = [rank(0, [], env), rank(1, [], env)];
  await haveMet(children);
  for (const child of children) expect(child.output().stdout).toContain('the store has keys\n');
});
