// Serves a store until SIGUSR2.
import { writeSync } from 'node:fs';
import { StoreServer } from 'ringrun';

const server = await StoreServer.bind({ host: '127.0.0.1', port: 0 });
process.once('SIGUSR2', () => void server.close());
writeSync(1, `port ${server.port}\n`);
