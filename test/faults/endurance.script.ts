// One rank of a job that is formed repeatedly: `endurance.script.ts <first round> <collectives of a round>`. The last
// rank kills itself at the end of a round, so its argument is the round; the others join the next round until the
// ports, one for each round, are used up. They print their resource usage after each round.
import { readFileSync, readdirSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { allReduce, destroyProcessGroup, initProcessGroup } from 'ringrun';

const [first, collectives] = process.argv.slice(2).map(Number);
const rank = Number(process.env['TEST_RANK']);
const worldSize = Number(process.env['TEST_WORLD_SIZE']);
const ports = process.env['TEST_PORTS']!.split(',');
const isVictim = rank === worldSize - 1;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

for (let round = first; round < ports.length; round += 1) {
  await initProcessGroup({
    initMethod: `tcp://127.0.0.1:${ports[round]}`,
    rank,
    worldSize,
    timeoutMs: 120_000,
  });
  const values = new Float32Array(5000);
  for (let i = 0; i < collectives; i += 1) {
    values.fill(rank + i);
    await allReduce(values);
    const sum = worldSize * i + (worldSize * (worldSize - 1)) / 2;
    if (values.some((value) => value !== sum))
      throw new Error(`round ${round}, collective ${i}: expected ${sum}`);
  }
  if (isVictim) process.kill(process.pid, 'SIGKILL');
  const error = await allReduce(values).then(
    () => undefined,
    (reason: unknown) => String(reason),
  );
  await destroyProcessGroup();
  if (!error?.includes(`rank ${worldSize - 1} (`))
    throw new Error(`expected the death of the last rank, got ${error}`);
  collectGarbage();
  console.log(`round ${round} ${JSON.stringify(occupied())}`);
}
process.exit();

function occupied(): Record<string, number> {
  const status = readFileSync('/proc/self/status', 'utf8');
  const field = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)![1]);
  return {
    descriptors: readdirSync('/proc/self/fd').length,
    threads: field('Threads'),
    mappings: readFileSync('/proc/self/maps', 'utf8').split('\n').length,
    MB: Math.round(field('VmRSS') / 1024),
  };
}
