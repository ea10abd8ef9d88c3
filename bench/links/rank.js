// One rank of several hosts: `rank.js <rounds> <transport> <bytes>…` prints as JSON, for each size, the seconds of an all-reduce of
// a float32 array on the slowest rank, on average of several that follow each other. Transports: float32, int8, int4.
import { constants, setPriority } from 'node:os';
import { ReduceOp, barrier, commHooks, defaultGroup, destroyProcessGroup, initProcessGroup } from 'ringrun';

const rounds = Number(process.argv[2]);
const transport = process.argv[3];
const sizes = process.argv.slice(4).map(Number);

// So that hosts do not wait for processors. The addon's threads start later and inherit it.
setPriority(constants.priority.PRIORITY_HIGHEST);
await initProcessGroup({ timeoutMs: 300_000 });
const group = defaultGroup();
const report = [];
for (const bytes of sizes) {
  const tensor = group.allocateSync('float32', bytes / Float32Array.BYTES_PER_ELEMENT);
  const allReduce = exchangeOf(tensor);
  // Connections are opened, and their windows grow: with several to a host, for some operations.
  for (let round = 0; round < rounds; round += 1) await allReduce();
  await barrier();
  const startedAt = performance.now();
  for (let round = 0; round < rounds; round += 1) await allReduce();
  const seconds = new Float64Array([(performance.now() - startedAt) / 1000 / rounds]);
  await group.allReduce(seconds, { op: ReduceOp.MAX });
  report.push(seconds[0]);
}
console.log(JSON.stringify(report));
await destroyProcessGroup();

function exchangeOf(data) {
  if (transport === 'float32') return () => group.allReduce(data);
  // A hook of one bucket does nothing else.
  const hook = { int8: commHooks.int8Compress, int4: commHooks.int4Compress }[transport]();
  const bucket = { index: 0, isLast: true, data, parameters: [], gradients: () => [data] };
  return () => hook(bucket, group);
}
