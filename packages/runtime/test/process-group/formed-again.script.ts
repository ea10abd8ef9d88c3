// One rank that forms a group and destroys it, FROM to TO times. It is killed in cycle DIE, after the group was formed.
import { readdirSync } from 'node:fs';
import { allReduce, destroyProcessGroup, getRank, getWorldSize, initProcessGroup, recv } from 'ringrun';

const { FROM = '0', TO = '0', DIE = '-1', DEATH = '-1' } = process.env;

function countOf(what: 'fd' | 'task'): number {
  return readdirSync(`/proc/self/${what}`).length;
}

for (let cycle = Number(FROM); cycle < Number(TO); cycle += 1) {
  await initProcessGroup({ timeoutMs: 60_000 });
  const sum = Float32Array.of(getRank() + 1);
  await allReduce(sum);
  if (sum[0] !== 6 || getWorldSize() !== 3) throw new Error(`cycle ${cycle}: sum ${sum[0]}`);
  if (cycle === Number(DIE)) process.kill(process.pid, 'SIGKILL');
  // Another rank dies in this cycle.
  if (cycle === Number(DEATH)) {
    const error = await recv(new Float32Array(1)).catch((failure: unknown) => failure);
    if ((error as { code?: string }).code !== 'ERR_PEER_DIED')
      throw new Error(`cycle ${cycle}`, { cause: error });
  }
  await destroyProcessGroup();
  console.log(`cycle ${cycle}: ${countOf('fd')} descriptors, ${countOf('task')} threads`);
}
console.log('done');
