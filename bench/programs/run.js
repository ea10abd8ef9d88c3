// Steps of fourteen programs that PyTorch users write, compared with PyTorch: `npm run bench:programs -- [--rounds 3]
// [--steps 60] [--python PYTHON] [--only TEXT]...`.
//
// Each round measures every program (whose name contains a TEXT) in both, in turns, on one thread; f1 on two ranks. A row has
// the medians over the rounds: the processor time of a step, which other programs on the machine disturb less than the
// elapsed time, and the time of the first step, which compiles. The score falls as a program learns.
import { parseArgs } from 'node:util';
import { printMachine } from '../machine.js';
import { pythonEnvironment, torchOf } from '../pytorch.js';
import { isChosen, median } from '../support.js';
import { shown, tableOf } from '../table.js';
import { inTurns } from '../turns.js';

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    steps: { type: 'string', default: '60' },
    python: { type: 'string', default: '/usr/bin/python3' },
    only: { type: 'string', multiple: true, default: [] },
  },
});
const names = [
  ...['gan', 'vit', 'seq2seq', 'reinforce', 'dqn', 'transfer', 'jsonlines', 'lora', 'accumulation'],
  ...['multitask', 'f1', 'sweep', 'recommender', 'tabular'],
].filter((name) => isChosen(name, options.only));
const torch = torchOf(options.python);

printMachine(torch ? [torch] : []);
const measured = [];
for (const name of names) {
  const rows = await measure(name);
  measured.push(rows);
  const done = rows.filter(({ reason }) => reason === undefined);
  const steps = done.map((row) => `${row.library} ${shown(medianOf(row, 'processor'))} ms`);
  console.error(`measured ${name}: ${steps.join(', ')}`);
}
const failed = measured.flat().filter(({ reason }) => reason !== undefined);
for (const { name, library, reason } of failed) console.log(`skipped ${name} of ${library}: ${reason}`);
const complete = measured.filter((rows) => rows.every(({ reason }) => reason === undefined));
const columnsOf = (field, digits) => [
  [`${field}, ms`, ([own]) => shown(medianOf(own, field), digits)],
  ['of PyTorch', ([, peer]) => shown(peer && medianOf(peer, field), digits)],
];
const lines = tableOf(complete, [
  ['program', ([{ name }]) => name],
  ...columnsOf('processor', 3),
  ['PyTorch ÷ ringrun', ([own, peer]) => shown(peer && ratioOf(own, peer), 2)],
  ...columnsOf('first', 3),
  ['score', ([own]) => shown(medianOf(own, 'score'), 3)],
  ['of PyTorch', ([, peer]) => shown(peer && medianOf(peer, 'score'), 3)],
]);
console.log(`\n${lines.join('\n')}`);

/** The rows of ringrun and PyTorch for a program. */
async function measure(name) {
  const ranks = name === 'f1' ? ['--nproc-per-node', '2'] : undefined;
  const launched = ranks ? ['launch.js', ...ranks] : ['--import', 'tsx'];
  const contenders = [
    {
      name,
      library: 'ringrun',
      command: [process.execPath, ...launched, 'bench/programs/measure.ts', name],
    },
  ];
  if (torch) {
    const torchrun = ranks ? ['-m', 'torch.distributed.run', ...ranks] : [];
    const command = [torch.python, ...torchrun, 'bench/programs/measure.py', name];
    contenders.push({ name, library: 'PyTorch', command });
  }
  return inTurns(contenders, Number(options.rounds), [options.steps], pythonEnvironment);
}

function medianOf({ results }, field) {
  return median(results.map((result) => result[field]));
}

/** The median over the rounds of the ratio within a round. */
function ratioOf(own, peer) {
  return median(own.results.map(({ processor }, round) => peer.results[round].processor / processor));
}
