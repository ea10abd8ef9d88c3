// Time from the command to the first all-reduce on two processes: `npm run bench:launch -- [--rounds 7] [--json FILE]`.
// Alternates between ringrun's launcher and PyTorch over gloo, whose processes start at once from environment
// variables. PyTorch is python3-torch of the system's Python; without it, only ringrun is measured.
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { freePort, median, run } from '../support.js';

const ranks = 2;
const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '7' },
    python: { type: 'string', default: '/usr/bin/python3' },
    json: { type: 'string' },
  },
});

const contenders = [
  { name: 'ringrun', launch: launchRingrun },
  ...(hasTorch() ? [{ name: 'PyTorch (gloo)', launch: launchPyTorch }] : []),
];
// The first run is not counted, because it reads its files from disk.
for (const { launch } of contenders) await launch();

const rows = [];
for (let round = 1; round <= Number(options.rounds); round += 1) {
  for (const { name, launch } of contenders) {
    const startedAt = Date.now();
    const { doneAt, sum } = await launch();
    if (sum !== ranks) throw new Error(`${name}: the sum of ${ranks} ones is ${sum}`);
    const row = { name, round, ms: doneAt - startedAt, load: loadavg()[0] };
    rows.push(row);
    console.log(`round ${round}  ${name.padEnd(14)} ${row.ms.toFixed(0).padStart(6)} ms  load ${row.load}`);
  }
}

const summary = contenders.map(({ name }) => ({
  name,
  ms: median(rows.filter((row) => row.name === name).map(({ ms }) => ms)),
}));
for (const { name, ms } of summary) {
  console.log(
    `${name.padEnd(14)} median ${ms.toFixed(0)} ms, ringrun takes ${(summary[0].ms / ms).toFixed(2)} × this time`,
  );
}
if (options.json) writeFileSync(options.json, JSON.stringify({ rows, summary }, null, 2));

async function launchRingrun() {
  const script = 'bench/launch/first-all-reduce.js';
  return lastLine(await run(process.execPath, ['launch', '--nproc', String(ranks), script]));
}

async function launchPyTorch() {
  const environment = {
    WORLD_SIZE: String(ranks),
    MASTER_ADDR: '127.0.0.1',
    MASTER_PORT: String(await freePort()),
    OMP_NUM_THREADS: '1',
  };
  const script = fileURLToPath(new URL('first_all_reduce.py', import.meta.url));
  const outputs = await Promise.all(
    Array.from({ length: ranks }, (_, rank) =>
      run(options.python, [script], { ...environment, RANK: String(rank) }),
    ),
  );
  return lastLine(outputs[0]);
}

function lastLine(output) {
  return JSON.parse(output.trim().split('\n').at(-1));
}

function hasTorch() {
  const found = spawnSync(options.python, ['-c', 'import torch']).status === 0;
  if (!found) console.log(`${options.python} has no torch: only ringrun is measured`);
  return found;
}
