// A store server in its own process. For each line on stdin it prints its peak memory in bytes.
import { readFileSync } from 'node:fs';
import { StoreServer } from 'ringrun';

const server = await StoreServer.bind({ host: '127.0.0.1', port: 0 });
console.log(server.port);
// The parent closes stdin when it ends, even if it was killed.
process.stdin.on('end', () => process.exit());
process.stdin.on('data', () => {
  const [, peakKib] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'));
  console.log(Number(peakKib) * 1024);
});
