// Training steps of two processes:
// `npm run bench:train -- [--models mnist,cifar,resnet18] [--batch 64] [--ranks 2] [--rounds 3] [--before CHECKOUT]
// [--json FILE]`. Alternates between ringrun, the ringrun of another built checkout (`--before`), ringrun without
// communication, and PyTorch DDP over gloo. PyTorch is python3-torch of the system's
// Python (`apt-get install python3-torch libopenblas0-pthread`); without it, only ringrun is measured. The first line
// is a limit: the cost of waiting for each other in processes that do nothing else (limit_together.c). A row is the
// median of all steps of all rounds on rank 0.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { compile, freePort, median, run } from '../support.js';
import { models } from './models.js';

const { values: options } = parseArgs({
  options: {
    models: { type: 'string', default: Object.keys(models).join() },
    batch: { type: 'string', default: '64' },
    ranks: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '3' },
    before: { type: 'string' },
    python: { type: 'string', default: '/usr/bin/python3' },
    json: { type: 'string' },
  },
});
const [ranks, batch, rounds] = [options.ranks, options.batch, options.rounds].map(Number);

const ringrun = (name, mode, checkout) => ({
  name,
  train: (model) => launched(['bench/train/ringrun.js', mode, model, batch, models[model].steps], checkout),
});
const pytorch = {
  name: 'PyTorch DDP (gloo)',
  train: (model) => started(['bench/train/pytorch.py', model, batch, models[model].steps]),
};
const contenders = [
  ringrun('ringrun DDP', 'ddp'),
  ...(options.before ? [ringrun('ringrun DDP before', 'ddp', options.before)] : []),
  ringrun('ringrun, no communication', 'alone'),
  ...(hasTorch() ? [pytorch] : []),
];

await printLimit();
const rows = [];
for (const model of options.models.split(',')) {
  const reports = new Map(contenders.map(({ name }) => [name, []]));
  for (let round = 1; round <= rounds; round += 1) {
    for (const { name, train } of contenders) reports.get(name).push(await train(model));
    console.error(`${model}: round ${round} of ${rounds} done`);
  }
  const own = contenders.map(({ name }) => rowOf(name, model, reports.get(name)));
  print(model, own);
  rows.push(...own);
}
if (options.json) writeFileSync(options.json, JSON.stringify(rows, null, 2));

function rowOf(name, model, reports) {
  const stepMs = median(reports.flatMap(({ times }) => times));
  const isKnown = reports[0].computeMs !== null;
  const computeMs = isKnown ? median(reports.map((report) => report.computeMs)) : null;
  const waitMs = isKnown ? median(reports.map((report) => report.waitMs)) : null;
  const meanMs = median(reports.map(({ times }) => times.reduce((sum, time) => sum + time) / times.length));
  return {
    name,
    model,
    ranks,
    batch,
    imagesPerSec: (1000 * ranks * batch) / stepMs,
    stepMs,
    computeMs,
    waitMs,
    otherMs: isKnown ? meanMs - computeMs - waitMs : null,
    memoryBytes: Math.max(...reports.map(({ memory }) => memory)),
  };
}

function print(model, own) {
  console.log(`${model}: ${ranks} ranks, batch ${batch} per rank, medians`);
  const head = ['images/s', 'step ms', 'compute', 'wait', 'other', 'MB', '× ringrun'];
  console.log(`${''.padEnd(26)}${head.map((word) => word.padStart(11)).join('')}`);
  for (const row of own) {
    const numbers = [
      row.imagesPerSec,
      row.stepMs,
      row.computeMs,
      row.waitMs,
      row.otherMs,
      row.memoryBytes / 1e6,
    ];
    const cells = numbers.map((number) => (number === null ? '-' : number.toPrecision(4)).padStart(11));
    console.log(
      `${row.name.padEnd(26)}${cells.join('')}${`${(row.stepMs / own[0].stepMs).toFixed(2)}`.padStart(11)}`,
    );
  }
}

/** Prints what processes of equal work lose by waiting for each other at every step, in any language. */
async function printLimit() {
  const folder = mkdtempSync(join(tmpdir(), 'ringrun-bench-'));
  try {
    const output = await run(compile('bench/train/limit_together.c', folder), [String(ranks), '200']);
    const steps = output
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const medianOf = (together) =>
      median(steps.filter((step) => step.together === together).map(({ ms }) => ms));
    const [apart, together] = [medianOf(false), medianOf(true)];
    console.log(
      `limit: ${ranks} C processes of equal work take ${apart.toFixed(2)} ms a step, ${together.toFixed(2)} ms if each step waits for all; ratio ${(apart / together).toFixed(2)}`,
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Runs ringrun through its launcher, as users do. */
async function launched(args, folder) {
  return lastLine(
    await run(process.execPath, ['launch', '--nproc', String(ranks), ...args.map(String)], {}, folder),
  );
}

/** Starts PyTorch's processes as torchrun would; torchrun needs more than python3-torch provides. */
async function started(args) {
  const port = await freePort();
  const outputs = await Promise.all(
    Array.from({ length: ranks }, (_, rank) =>
      run(options.python, args.map(String), {
        RANK: String(rank),
        WORLD_SIZE: String(ranks),
        MASTER_ADDR: '127.0.0.1',
        MASTER_PORT: String(port),
        OMP_NUM_THREADS: '1',
      }),
    ),
  );
  return lastLine(outputs[0]);
}

function lastLine(output) {
  return JSON.parse(output.trim().split('\n').at(-1));
}

function hasTorch() {
  const found = spawnSync(options.python, ['-c', 'import torch']).status === 0;
  if (!found) console.error(`${options.python} has no torch: only ringrun is measured`);
  return found;
}
