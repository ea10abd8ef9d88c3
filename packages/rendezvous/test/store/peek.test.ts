import { expect, onTestFinished, test } from 'vitest';
import { connectStore } from '../../src/store/client.ts';
import { missingKeysOf, peek } from '../../src/store/peek.ts';
import { start } from './processes.ts';

test('a store that does not answer for a while has all its keys', async () => {
  const server = start(new URL('departures.script.ts', import.meta.url), {});
  const [, port] = await server.sees(/port (\d+)/);
  const store = await connectStore({ host: '127.0.0.1', port: Number(port) });
  onTestFinished(() => store.close());
  await store.set('there', 'x');
  expect(await peek(store, 'absent')).toBeUndefined();

  // The server continues when each call is made a second time, because nothing answered the first.
  server.kill('SIGSTOP');
  let calls = 0;
  const asked = () => {
    if (++calls === 4) server.kill('SIGCONT');
  };
  const [get, wait] = [store.get.bind(store), store.wait.bind(store)];
  store.get = (...args) => (asked(), get(...args));
  store.wait = (...args) => (asked(), wait(...args));
  const found = await Promise.all([peek(store, 'there'), missingKeysOf(store, ['there', 'absent'])]);
  expect(found).toEqual(['x', ['absent']]);
});
