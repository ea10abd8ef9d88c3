// Training steps of an embedding table with sparse gradients, compared with PyTorch: `npm run bench:sparse --
// [--tables '200000 32 1024 20']... [--rounds 3] [--steps 50] [--ranks 1]... [--python PYTHON]... [--only TEXT]...`.
//
// A table is its rows and width, and the batch and length of the indices of a step. Each round measures every row (whose name
// contains a TEXT) once, on one thread for each rank. A row is the median over the rounds: the first step, which compiles, a later
// step, and its time on the processor, which other programs on the machine disturb less.
import { parseArgs } from 'node:util';
import { bestLine } from '../best.js';
import { printMachine } from '../machine.js';
import { pythonEnvironment, torchOf } from '../pytorch.js';
import { isChosen } from '../support.js';
import { tableOf } from '../table.js';
import { inTurns, medianColumn } from '../turns.js';

const { values: options } = parseArgs({
  options: {
    tables: { type: 'string', multiple: true, default: ['200000 32 1024 20', '2000 32 1024 20'] },
    rounds: { type: 'string', default: '3' },
    steps: { type: 'string', default: '50' },
    ranks: { type: 'string', multiple: true, default: ['1'] },
    python: { type: 'string', multiple: true, default: ['/usr/bin/python3'] },
    only: { type: 'string', multiple: true, default: [] },
  },
});
const torches = options.python.flatMap((python) => torchOf(python) ?? []);
const kinds = [
  ['sparse', 'SGD'],
  ['sparse', 'Adagrad'],
  ['sparse', 'SparseAdam'],
  ['dense', 'SGD'],
];

printMachine(torches);
for (const ranks of options.ranks) for (const table of options.tables) await measure(table, Number(ranks));

/** @returns commands that run on some ranks */
function contendersOn(ranks) {
  const launch = ranks === 1 ? [] : ['launch.js', '--nproc-per-node', `${ranks}`];
  const torchLaunch = ranks === 1 ? [] : ['-m', 'torch.distributed.run', '--nproc-per-node', `${ranks}`];
  return kinds
    .flatMap(([kind, optimizer]) => [
      {
        name: `ringrun ${kind} ${optimizer}`,
        library: 'ringrun',
        command: [process.execPath, ...launch, 'bench/sparse/ringrun.js', kind, optimizer],
      },
      ...torches.map(({ python, version }) => ({
        name: `PyTorch ${version} ${kind} ${optimizer}`,
        library: 'PyTorch',
        command: [python, ...torchLaunch, 'bench/sparse/pytorch.py', kind, optimizer],
      })),
    ])
    .filter(({ name }) => isChosen(name, options.only));
}

async function measure(table, ranks) {
  const args = [...table.split(' '), options.steps];
  const rows = await inTurns(contendersOn(ranks), Number(options.rounds), args, pythonEnvironment);
  const measured = rows.filter(({ times }) => times.length > 0);
  const title = `${table}, ${ranks} ${ranks === 1 ? 'rank' : 'ranks'}`;
  const lines = tableOf(measured, [
    [title, ({ name }) => name],
    medianColumn('step, ms', 'milliseconds', 4),
    medianColumn('processor, ms', 'processor', 4),
    medianColumn('first, ms', 'first', 4),
    medianColumn('MB', 'memory'),
    medianColumn('loss', 'loss', 6),
  ]);
  console.log(`\n${lines.join('\n')}`);
  for (const optimizer of new Set(kinds.map(([kind, name]) => `${kind} ${name}`))) {
    const ofKind = measured.filter(({ name }) => name.endsWith(` ${optimizer}`));
    if (new Set(ofKind.map(({ library }) => library)).size > 1)
      console.log(`\n${title}, ${optimizer}, ${bestLine(ofKind)}`);
  }
  for (const { name, reason } of rows) if (reason !== undefined) console.log(`skipped ${name}: ${reason}`);
}
