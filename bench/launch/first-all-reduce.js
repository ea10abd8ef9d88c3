// One rank: prints when its first all-reduce ended, in milliseconds since 1970.
import { allReduce, destroyProcessGroup, getRank, initProcessGroup } from 'ringrun';

await initProcessGroup();
const ones = Float32Array.of(1);
await allReduce(ones);
if (getRank() === 0) console.log(JSON.stringify({ doneAt: Date.now(), sum: ones[0] }));
await destroyProcessGroup();
