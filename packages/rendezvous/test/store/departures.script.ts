// Serves a store until the process is killed. After each SIGUSR2 it collects garbage and prints its memory in MB: of
// objects, and of everything outside the heap of V8.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { StoreServer } from 'ringrun';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
let samples = 0;
process.on('SIGUSR2', () => {
  collectGarbage();
  const { rss, heapTotal, heapUsed } = process.memoryUsage();
  const [objects, native] = [heapUsed, rss - heapTotal].map((bytes) => (bytes / 2 ** 20).toFixed(2));
  console.log(`sample ${++samples}: ${objects} ${native};`);
});
const { port } = await StoreServer.bind({ host: '127.0.0.1', port: 0 });
console.log(`port ${port}\n`);
