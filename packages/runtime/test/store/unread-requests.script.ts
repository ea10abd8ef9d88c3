// Serves a store that does not read for 17 s. Meanwhile a client sends more requests than the store takes ahead, and its
// connection is reset.
import { execFileSync } from 'node:child_process';
import { connectStore, StoreServer } from 'ringrun';

const server = await StoreServer.bind({ host: '127.0.0.1', port: 0 });
// ZMTP 3.0 (ZeroMQ RFC 23) without security: a greeting, READY, and 1,000 messages of two frames.
const client = `
  const hex = (...parts) => Buffer.from(parts.join(''), 'hex');
  const greeting = hex('ff00000000000000007f0300', Buffer.from('NULL').toString('hex').padEnd(40, '0'), '00'.repeat(32));
  const ready = Buffer.concat([Buffer.from('\\x05READY\\x0bSocket-Type\\0\\0\\0\\x06DEALER\\x08Identity\\0\\0\\0\\0')]);
  const message = hex('010161', '000162');
  const socket = require('node:net').connect(${server.port}, '127.0.0.1');
  socket.write(Buffer.concat([greeting, Buffer.from([4, ready.length]), ready]));
  socket.once('data', () => {
    socket.write(Buffer.concat(Array(1000).fill(message)), () => setTimeout(() => socket.resetAndDestroy(), 1000));
  });
`;
// Blocks this thread, for longer than the interval of a heartbeat, 15 s.
execFileSync(process.execPath, ['-e', client]);
Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 17_000);

const store = await connectStore({ host: '127.0.0.1', port: server.port });
await store.set('key', 'value');
console.log(Buffer.from(await store.get('key')).toString());
await store.close();
await server.close();
