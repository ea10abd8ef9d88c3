import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the ports that Linux hands out by itself (32768 and up), which another process may get before this one is bound again. */
const range = { least: 10_000, most: 30_000 };

/** A TCP port of 127.0.0.1 on which nobody listens. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = range.least + Math.floor(Math.random() * (range.most - range.least));
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
