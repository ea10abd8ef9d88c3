// One rank of a job whose connections pass a relay. Adds numbers and sends messages, checks all results, and prints each
// step. Arguments: the number of steps, and a file or nothing: steps continue until it exists.
import { existsSync } from 'node:fs';
import { allReduce, destroyProcessGroup, initProcessGroup, recv, send } from 'ringrun';

const [steps, untilFile] = [Number(process.argv[2]), process.argv[3]];
const { RANK, WORLD_SIZE } = process.env;
const [rank, size] = [Number(RANK), Number(WORLD_SIZE)];
/** Long enough for several records of 64 KiB in each direction. */
const length = 200_000;
const value = (of: number, step: number, i: number) => of + step + (i % 7);

await initProcessGroup({ timeoutMs: 20_000 });
const values = new Float32Array(length);
for (let step = 1, waiting = 1; step <= steps || waiting > 0; step += 1) {
  for (let i = 0; i < length; i += 1) values[i] = value(rank, step, i);
  await allReduce(values);
  check('sum', (i) => {
    let sum = 0;
    for (let of = 0; of < size; of += 1) sum += value(of, step, i);
    return sum;
  });
  if (rank === 0) {
    await recv(values, { src: 1 });
    check('message', (i) => -i);
  } else if (rank === 1) {
    for (let i = 0; i < length; i += 1) values[i] = -i;
    await send(values, 0);
  }
  console.log(`rank ${rank} has done step ${step}`);
  const remaining = Float32Array.of(untilFile !== '' && !existsSync(untilFile) ? 1 : 0);
  await allReduce(remaining);
  waiting = remaining[0];
  function check(what: string, expected: (i: number) => number): void {
    const wrong = values.findIndex((one, i) => one !== expected(i));
    if (wrong >= 0) console.log(`WRONG: element ${wrong} of the ${what} of step ${step} is ${values[wrong]}`);
  }
}
await destroyProcessGroup();
console.log(`rank ${rank} is done`);
