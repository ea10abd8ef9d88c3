// Joins the group, sums 1, 2, … over the ranks, and prints the run id that this rank was given.
import { allReduce, destroyProcessGroup, getRank, initProcessGroup } from 'ringrun';

await initProcessGroup();
const sum = Float32Array.of(getRank() + 1);
await allReduce(sum);
const id = Buffer.from(process.env.RINGRUN_RUN_ID ?? '').toString('base64');
console.log(`rank ${getRank()}: sum ${sum[0]}, id ${id}`);
await destroyProcessGroup();
