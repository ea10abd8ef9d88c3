// Training steps of a character-level GPT, compared with PyTorch's: `npm run bench:gpt -- [--sizes
// 12x64,64x256,8x256:6x384x6] [--ranks 2] [--rounds 5] [--steps N] [--python PYTHON]... [--only TEXT]... [--unfused]`.
//
// A size is the batch per rank × the context, and then layers × width × heads (4x128x4 by default). Each round measures
// every row (whose name contains a TEXT) once, in separate processes; figures are medians over the rounds. Two ranks use DDP
// (PyTorch's over gloo), one rank none. Both sides compute on one thread per rank. `--unfused` adds PyTorch's modes without
// its fused AdamW. PYTHON has torch (docs/performance.md, "Peers").
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { bestLine } from '../best.js';
import { printMachine } from '../machine.js';
import { modesOf, runTorchRanks, torchOf } from '../pytorch.js';
import { isChosen, mean, median, reasonOf, root, run } from '../support.js';
import { shown, tableOf } from '../table.js';

const { values: options } = parseArgs({
  options: {
    sizes: { type: 'string', default: '12x64,64x256,8x256:6x384x6' },
    ranks: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '5' },
    steps: { type: 'string' },
    python: { type: 'string', multiple: true, default: ['/usr/bin/python3'] },
    only: { type: 'string', multiple: true, default: [] },
    unfused: { type: 'boolean', default: false },
  },
});
const ranks = Number(options.ranks);
const torches = options.python.flatMap((python) => torchOf(python) ?? []);
const folder = mkdtempSync(join(tmpdir(), 'ringrun-bench-'));
const contenders = [
  ...['compileStep', 'compileStep+traceOnce', 'compileStep+bf16', 'compileStep+traceOnce+bf16'].map(ringrun),
  ...torches.flatMap(pytorch),
].filter(({ name }) => isChosen(name, options.only));

try {
  printMachine(torches);
  for (const size of options.sizes.split(',')) await measure(size);
} finally {
  rmSync(folder, { recursive: true });
}

async function measure(size) {
  const [data, model = '4x128x4'] = size.split(':');
  const [batch, context] = data.split('x').map(Number);
  const [layers, width, heads] = model.split('x').map(Number);
  const steps = Number(options.steps ?? stepsOf({ tokens: batch * context, layers, width }));
  const rows = contenders.map((contender) => ({ ...contender, times: [], rounds: [] }));
  const skipped = new Map();
  for (let round = 0; round < Number(options.rounds); round += 1) {
    // Alternating directions: a drift of the machine's speed affects all rows alike.
    for (const row of round % 2 === 0 ? rows : rows.toReversed()) {
      if (skipped.has(row.name)) continue;
      try {
        const own = await measureOnce(row, [batch, context, layers, width, heads], steps);
        row.rounds.push(own);
        row.times.push(own.stepMs);
      } catch (error) {
        skipped.set(row.name, reasonOf(error));
      }
    }
    console.error(`${size}: round ${round + 1} of ${options.rounds} done`);
  }
  console.log(
    `\nGPT, ${layers} layers, ${width} wide, ${heads} heads, context ${context}, batch ${batch} per rank, ` +
      `${ranks} ${ranks === 1 ? 'rank' : 'ranks'}, ${steps} steps in each of ${options.rounds} rounds\n`,
  );
  print(
    rows.filter(({ times }) => times.length > 0),
    batch * context * ranks,
  );
  for (const [name, reason] of skipped) console.log(`skipped ${name}: ${reason}`);
  if ([...skipped.keys()].some((name) => name.startsWith('ringrun'))) process.exitCode = 1;
}

/** Steps of a round: about as much arithmetic for every size. */
function stepsOf({ tokens, layers, width }) {
  return Math.max(6, Math.round(80_000 / tokens / ((layers * width ** 2) / (4 * 128 ** 2))));
}

async function measureOnce({ train }, shape, steps) {
  const reports = join(folder, 'reports');
  mkdirSync(reports);
  try {
    await train([...shape, steps, reports].map(String));
    const all = Array.from({ length: ranks }, (_, rank) =>
      JSON.parse(readFileSync(join(reports, `${rank}.json`), 'utf8')),
    );
    return {
      stepMs: mean(all.map(({ durations }) => median(durations))),
      processorMs: mean(all.map(({ processorMs }) => processorMs / steps)),
      megabytes: mean(all.map(({ memory }) => memory / 1e6)),
    };
  } finally {
    rmSync(reports, { recursive: true });
  }
}

function print(rows, tokensOfStep) {
  if (rows.length === 0) return;
  const of = (row, key) => median(row.rounds.map((round) => round[key]));
  const ratioOf = (row) =>
    median(row.times.flatMap((time, i) => (rows[0].times[i] === undefined ? [] : time / rows[0].times[i])));
  const lines = tableOf(rows, [
    ['', ({ name }) => name],
    ['tokens/s', (row) => shown((1000 * tokensOfStep) / of(row, 'stepMs'))],
    ['step, ms', (row) => shown(of(row, 'stepMs'), 4)],
    ['processor, ms', (row) => shown(of(row, 'processorMs'), 4)],
    ['MB', (row) => shown(of(row, 'megabytes'))],
    ['÷ first', (row) => shown(ratioOf(row))],
  ]);
  console.log(lines.join('\n'));
  console.log(`\n${bestLine(rows)}`);
}

/** A row that runs through ringrun's launcher, as users do. */
function ringrun(mode) {
  const script = join(root, 'bench/gpt/ringrun.js');
  return {
    name: `ringrun ${mode}`,
    library: 'ringrun',
    isBfloat16: mode.includes('bf16'),
    train: (args) =>
      run(process.execPath, ['launch', '--nproc', String(ranks), script, mode, ...args], {
        OMP_NUM_THREADS: '1',
      }),
  };
}

function pytorch(torch) {
  return modesOf(torch, { unfused: options.unfused }).map(({ name, isBfloat16 }) => ({
    name: `PyTorch ${torch.version} ${name}`,
    library: 'PyTorch',
    isBfloat16,
    train: (args) => runTorchRanks(torch.python, [join(root, 'bench/gpt/pytorch.py'), name, ...args], ranks),
  }));
}
