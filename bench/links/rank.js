// One rank of several hosts: `rank.js <rounds> <bytes>…` prints as JSON, for each size, the seconds of an all-reduce of a
// float32 array on the slowest rank, on average of several that follow each other.
import { constants, setPriority } from 'node:os';
import { ReduceOp, barrier, defaultGroup, destroyProcessGroup, initProcessGroup } from 'ringrun';

const [rounds, ...sizes] = process.argv.slice(2).map(Number);

// So that hosts do not wait for processors. The addon's threads start later and inherit it.
setPriority(constants.priority.PRIORITY_HIGHEST);
await initProcessGroup({ timeoutMs: 300_000 });
const group = defaultGroup();
const report = [];
for (const bytes of sizes) {
  const tensor = group.allocateSync('float32', bytes / Float32Array.BYTES_PER_ELEMENT);
  // Connections are opened, and their windows grow: with several to a host, for some operations.
  for (let round = 0; round < rounds; round += 1) await group.allReduce(tensor);
  await barrier();
  const startedAt = performance.now();
  for (let round = 0; round < rounds; round += 1) await group.allReduce(tensor);
  const seconds = new Float64Array([(performance.now() - startedAt) / 1000 / rounds]);
  await group.allReduce(seconds, { op: ReduceOp.MAX });
  report.push(seconds[0]);
}
console.log(JSON.stringify(report));
await destroyProcessGroup();
