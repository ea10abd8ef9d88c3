import { expect, test } from 'vitest';
import { InvalidArgumentError } from '@ringrun/core';
import { TCPStore } from '../../src/store/tcp-store.ts';
import { freePort } from '../../../../test/support/free-port.ts';
import { start } from './processes.ts';

const script = new URL('tcp-store.script.ts', import.meta.url);

test('the server waits for the workers, serves them and ends the store', async () => {
  const env = { PORT: await freePort(), WORLD: 3 };
  const worker = start(script, env, ['worker']);
  const server = start(script, env, ['server']);
  await server.sees(/serving/);
  expect(server.output().stdout).not.toContain('all are here');
  const last = start(script, env, ['worker']);
  for (const child of [server, worker, last]) expect(await child.ended).toEqual({ code: 0, signal: null });
  expect(server.output().stdout).toContain('all are here\nworkers said 2\n');
});

test('the server times out with the number of connected workers', async () => {
  const server = start(script, { PORT: await freePort(), WORLD: 3, TIMEOUT: 300 }, ['server']);
  expect((await server.ended).code).toBe(1);
  expect(server.output().stderr).toContain(
    'TCPStore waited 300 ms for 3 processes, including the server, but only 1 connected',
  );
});

test('refuses an invalid world size', async () => {
  const opening = TCPStore.open({ host: '127.0.0.1', port: 1, worldSize: 0 });
  await expect(opening).rejects.toBeInstanceOf(InvalidArgumentError);
});
