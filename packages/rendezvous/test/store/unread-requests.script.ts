// Serves a store. On SIGUSR2 it blocks its event loop, so that requests stay unread, until the file of its argument exists.
import { existsSync, writeSync } from 'node:fs';
import { StoreServer } from 'ringrun';

const [file] = process.argv.slice(2);
const pause = new Int32Array(new SharedArrayBuffer(4));
process.on('SIGUSR2', () => {
  writeSync(1, 'blocked;');
  while (!existsSync(file)) Atomics.wait(pause, 0, 0, 5);
});
const { port } = await StoreServer.bind({ host: '127.0.0.1', port: 0 });
writeSync(1, `port ${port}\n`);
