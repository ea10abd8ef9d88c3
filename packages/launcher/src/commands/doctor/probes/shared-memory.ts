// One of two processes that reduce in shared memory. Arguments: the store's port, the rank, the timeout in
// milliseconds.
import { createCpuGroup } from '@ringrun/collectives';
import { connectStore } from '@ringrun/rendezvous';
import { measureLatency, measureThroughput } from '../measure-group.ts';
import type { Throughput } from '../measure-group.ts';

export interface SharedMemoryAnswer extends Throughput {
  /** Median of all-reduces of 4 B. */
  latencyUs: number;
}

const [port, rank, timeoutMs] = process.argv.slice(2).map(Number);
const store = await connectStore({ host: '127.0.0.1', port, timeoutMs });
const group = await createCpuGroup({
  store,
  rank,
  size: 2,
  timeoutMs,
  transport: 'shm',
  hostId: 'one host',
});
const answer: SharedMemoryAnswer = {
  latencyUs: await measureLatency(group),
  ...(await measureThroughput(group, 50)),
};
process.stdout.write(JSON.stringify(answer));
await group.destroy();
await store.close();
