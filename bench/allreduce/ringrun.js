// One rank of ringrun's all-reduce: `node ringrun.js registered|any sync|async bytes:repetitions …`. Rank 0 prints a
// JSON line per size.
import { defaultGroup, destroyProcessGroup, getRank, initProcessGroup } from 'ringrun';

const [memory, mode, ...plan] = process.argv.slice(2);
// Looked up once: `process` is a getter, whose time would be measured too.
const nanoseconds = process.hrtime.bigint;
await initProcessGroup();
const group = defaultGroup();
await warmUp();
for (const step of plan) {
  const [bytes, repetitions] = step.split(':').map(Number);
  const length = bytes / Float32Array.BYTES_PER_ELEMENT;
  const tensor = memory === 'registered' ? group.allocateSync('float32', length) : new Float32Array(length);
  const times = [];
  for (let i = -repetitions; i < repetitions; i += 1) {
    const start = nanoseconds();
    if (mode === 'sync') group.allReduceSync(tensor);
    else await group.allReduce(tensor);
    if (i >= 0) times.push(Number(nanoseconds() - start) / 1000);
  }
  group.barrierSync();
  if (getRank() === 0) console.log(JSON.stringify({ bytes, times }));
}
await destroyProcessGroup();

/** Lets V8 compile everything before measuring; four processes on one processor need some thousand calls. */
async function warmUp() {
  const tensor = new Float32Array(1);
  for (let i = 0; i < 5000; i += 1) {
    if (mode === 'sync') group.allReduceSync(tensor);
    else await group.allReduce(tensor);
  }
}
