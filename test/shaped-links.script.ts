// `shaped-links.script.ts serve` answers every connection: a client sends a number of bytes as eight digits, then so many
// bytes, and receives one byte when all have arrived.
// `shaped-links.script.ts send <addresses> <bytes> <times>` sends to all addresses at once, over one connection to each,
// and prints as JSON the seconds of each time.
// `shaped-links.script.ts drip <address>` sends one byte every 20 ms and prints the milliseconds until its answer, until
// it is killed.
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';

const port = 5000;
const digits = 8;
const [mode, addresses, bytes, times] = process.argv.slice(2);

function serve(): void {
  const server = createServer({ noDelay: true }, (socket) => {
    let expected = -1;
    let arrived = 0;
    let head = '';
    socket.on('data', (data) => {
      let at = 0;
      while (at < data.length) {
        if (expected < 0) {
          const part = data.subarray(at, at + digits - head.length);
          head += part.toString();
          at += part.length;
          if (head.length < digits) return;
          expected = Number(head);
          head = '';
        }
        const part = Math.min(expected - arrived, data.length - at);
        arrived += part;
        at += part;
        if (arrived < expected) return;
        socket.write('.');
        expected = -1;
        arrived = 0;
      }
    });
    socket.on('error', () => socket.destroy());
  });
  server.listen(port, () => {
    console.log('listening');
  });
}

/** Seconds from the first byte to the answer. */
async function send(socket: Socket, count: number): Promise<number> {
  const startedAt = performance.now();
  socket.write(String(count).padStart(digits, '0'));
  socket.write(Buffer.alloc(count));
  await once(socket, 'data');
  return (performance.now() - startedAt) / 1000;
}

async function connected(host: string): Promise<Socket> {
  const socket = connect({ host, port, noDelay: true });
  await once(socket, 'connect');
  return socket;
}

if (mode === 'serve') serve();
if (mode === 'send') {
  const sockets = await Promise.all(addresses.split(',').map(connected));
  const seconds: number[] = [];
  for (let i = 0; i < Number(times); i += 1)
    seconds.push(Math.max(...(await Promise.all(sockets.map((socket) => send(socket, Number(bytes)))))));
  console.log(JSON.stringify(seconds));
  for (const socket of sockets) socket.destroy();
}
if (mode === 'drip') {
  const socket = await connected(addresses);
  for (;;) {
    console.log(`took ${Math.round(1000 * (await send(socket, 1)))} ms`);
    await setTimeout(20);
  }
}
