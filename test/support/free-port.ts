import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below Linux's ephemeral ports (32768 and up), which another process might receive before the test binds the port. */
const range = { min: 10_000, max: 30_000 };

/** A free TCP port of 127.0.0.1. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = range.min + Math.floor(Math.random() * (range.max - range.min));
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
