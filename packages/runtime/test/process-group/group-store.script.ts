// Rank 0 of 2 that serves its store at each port of PORTS in turn, and prints the numbers of threads and open files of
// the process after each.
import { readdirSync } from 'node:fs';

// Not exported by the package.
const { openGroupStore } = (await import(
  new URL('../process-group/group-store.js', import.meta.resolve('ringrun')).href
)) as typeof import('../../dist/process-group/group-store.js');

const count = (folder: string): number => readdirSync(`/proc/self/${folder}`).length;

for (const port of process.env['PORTS']!.split(' ')) {
  const place = { kind: 'rank 0', at: { host: '127.0.0.1', port: Number(port) } } as const;
  const settings = {
    place,
    rank: 0,
    worldSize: 2,
    localRank: 0,
    masterAddress: undefined,
    restartCount: 0,
    runId: '',
  };
  const opened = await openGroupStore(settings, 20_000);
  await opened.store.set('k', 'v');
  await opened.release();
  console.log(`${count('task')} ${count('fd')}`);
}
