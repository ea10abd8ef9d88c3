// One rank of ringrun's all-reduce: `node ringrun.js registered|any sync|async bytes:repetitions …`. Rank 0 prints a
// JSON line per size.
import { defaultGroup, destroyProcessGroup, getRank, initProcessGroup } from 'ringrun';

const [memory, mode, ...plan] = process.argv.slice(2);
// Once, because these would be measured too: `process` is a getter, and a string from the command line is compared by letters.
const nanoseconds = process.hrtime.bigint;
const isSync = mode === 'sync';
await initProcessGroup();
const group = defaultGroup();
// Lets V8 compile everything before measuring, the loop that measures too, which it optimises as a whole after several calls.
for (let i = 0; i < 10; i += 1) await timesOf(new Float32Array(1), 1000);
for (const step of plan) {
  const [bytes, repetitions] = step.split(':').map(Number);
  const length = bytes / Float32Array.BYTES_PER_ELEMENT;
  const tensor = memory === 'registered' ? group.allocateSync('float32', length) : new Float32Array(length);
  const times = await timesOf(tensor, repetitions);
  group.barrierSync();
  if (getRank() === 0) console.log(JSON.stringify({ bytes, times }));
}
await destroyProcessGroup();

/** Microseconds of each call, after as many calls that are not measured. */
async function timesOf(tensor, repetitions) {
  const times = [];
  for (let i = -repetitions; i < repetitions; i += 1) {
    const start = nanoseconds();
    if (isSync) group.allReduceSync(tensor);
    else await group.allReduce(tensor);
    if (i >= 0) times.push(Number(nanoseconds() - start) / 1000);
  }
  return times;
}
