// Training steps of a character-level GPT on two ranks, compared with PyTorch DDP over gloo: `npm run bench:gpt --
// [--sizes 12x64,64x256] [--rounds 5] [--steps N] [--python PYTHON]... [--only TEXT]`.
//
// A size is the batch per rank × the context. Each round measures every row (whose name contains TEXT) once, in
// separate processes; figures are medians over the rounds. Both sides compute on one thread per rank. PYTHON has torch
// (docs/performance.md, "Peers").
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { runTorchRanks, torchOf } from '../pytorch.js';
import { mean, median, root, run } from '../support.js';

const { values: options } = parseArgs({
  options: {
    sizes: { type: 'string', default: '12x64,64x256' },
    rounds: { type: 'string', default: '5' },
    steps: { type: 'string' },
    python: { type: 'string', multiple: true, default: ['/usr/bin/python3'] },
    only: { type: 'string', default: '' },
  },
});
const ranks = 2;
const threads = { OMP_NUM_THREADS: '1' };
const folder = mkdtempSync(join(tmpdir(), 'ringrun-bench-'));
const contenders = [
  { name: 'ringrun, compileStep', train: trainRingrun },
  ...options.python.flatMap(pytorch),
].filter(({ name }) => name.includes(options.only));

try {
  console.log(`load ${loadavg()[0].toFixed(1)} on ${availableParallelism()} processors`);
  for (const size of options.sizes.split(',')) await measure(size);
} finally {
  rmSync(folder, { recursive: true });
}

async function measure(size) {
  const [batch, context] = size.split('x').map(Number);
  const steps = Number(options.steps ?? Math.max(4, Math.round(80_000 / (batch * context))));
  const rounds = new Map(contenders.map(({ name }) => [name, []]));
  for (let round = 0; round < Number(options.rounds); round += 1) {
    // Alternating directions: a drift of the machine's speed affects all rows alike.
    for (const { name, train } of round % 2 === 0 ? contenders : contenders.toReversed()) {
      const reports = join(folder, 'reports');
      mkdirSync(reports);
      await train([batch, context, steps, reports].map(String));
      const all = Array.from({ length: ranks }, (_, rank) =>
        JSON.parse(readFileSync(join(reports, `${rank}.json`), 'utf8')),
      );
      rmSync(reports, { recursive: true });
      rounds.get(name).push({
        stepMs: mean(all.map(({ durations }) => median(durations))),
        processorMs: mean(all.map(({ processorMs }) => processorMs / steps)),
        megabytes: mean(all.map(({ memory }) => memory / 1e6)),
      });
    }
    console.error(`${size}: round ${round + 1} of ${options.rounds} done`);
  }
  console.log(`\nbatch ${batch} per rank, context ${context}, ${steps} steps a round, ${ranks} ranks`);
  console.log(
    ''.padEnd(34) +
      ['tokens/s', 'step ms', 'cpu ms', 'MB', '÷ first', 'cpu ÷'].map((head) => head.padStart(10)).join(''),
  );
  const [first] = rounds.values();
  for (const [name, own] of rounds) {
    const of = (key) => median(own.map((round) => round[key]));
    const ratio = (key) => median(own.map((round, i) => round[key] / first[i][key]));
    const cells = [
      ((1000 * batch * context * ranks) / of('stepMs')).toFixed(0),
      of('stepMs').toFixed(2),
      of('processorMs').toFixed(2),
      of('megabytes').toFixed(0),
      ratio('stepMs').toFixed(2),
      ratio('processorMs').toFixed(2),
    ];
    console.log(name.padEnd(34) + cells.map((cell) => cell.padStart(10)).join(''));
  }
}

/** Runs ringrun through its launcher, as users do. */
async function trainRingrun(args) {
  const script = join(root, 'bench/gpt/ringrun.js');
  await run(process.execPath, ['launch', '--nproc', String(ranks), script, ...args], threads);
}

/** The modes of a Python's PyTorch. */
function pytorch(python) {
  const torch = torchOf(python);
  if (torch === undefined) return [];
  const modes = torch.compiles ? ['eager', 'eager+fused', 'compile', 'compile+fused'] : ['eager'];
  return modes.map((mode) => ({
    name: `PyTorch ${torch.version} ${mode}`,
    train: (args) => runTorchRanks(python, [join(root, 'bench/gpt/pytorch.py'), mode, ...args], ranks),
  }));
}
