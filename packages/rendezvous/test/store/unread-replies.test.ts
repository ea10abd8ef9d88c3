import { expect, onTestFinished, test } from 'vitest';
import { Dealer } from 'zeromq';
import { connectStore } from '../../src/store/client.ts';
import { encodeRequest, protocolName, type Call } from '../../src/store/wire.ts';
import { start } from './processes.ts';

test('a server that closes prints nothing and ends, although a client does not read its replies', async () => {
  const server = start(new URL('unread-replies.script.ts', import.meta.url), {});
  const port = Number((await server.sees(/port (\d+)\n/))[1]);
  const store = await connectStore({ host: '127.0.0.1', port, timeoutMs: 20_000 });
  await store.set('large', Buffer.alloc(2 ** 20));
  const client = new Dealer({ linger: 0, receiveHighWaterMark: 1 });
  onTestFinished(() => {
    client.close();
  });
  client.connect(`tcp://127.0.0.1:${port}`);
  const calls: Call[] = [
    ...Array<Call>(24).fill({ op: 'get', key: 'large', timeoutMs: 1000 }),
    { op: 'set', key: 'asked', value: Buffer.of(1) },
  ];
  for (const [id, call] of calls.entries())
    await client.send([protocolName, encodeRequest({ id: id + 1, call })]);
  // Queued after the replies, which exceed the buffers of a connection.
  await store.get('asked');
  await store.close();
  server.kill('SIGUSR2');
  expect(await server.ended).toEqual({ code: 0, signal: null });
  expect(server.output().stderr).toBe('');
});
