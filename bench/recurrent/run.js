// Forward and backward passes of LSTM, GRU and RNN over 256 steps, compared with PyTorch: `npm run bench:recurrent --
// [--layers 'LSTM 256 8 64 128']... [--rounds 3] [--steps 5] [--python PYTHON]... [--only TEXT]...`.
//
// A layer is its kind, the steps, rows, input size and hidden size. Each round measures every row (whose name contains a
// TEXT) once, on one thread. A row is the median over the rounds: the first pass, which compiles, a later pass, and its time
// on the processor, which other programs on the machine disturb less.
import { parseArgs } from 'node:util';
import { bestLine } from '../best.js';
import { printMachine } from '../machine.js';
import { modesOf, pythonEnvironment, torchOf } from '../pytorch.js';
import { isChosen } from '../support.js';
import { tableOf } from '../table.js';
import { inTurns, medianColumn } from '../turns.js';

const { values: options } = parseArgs({
  options: {
    layers: {
      type: 'string',
      multiple: true,
      default: ['LSTM 256 32 128 256', 'LSTM 256 8 64 128', 'GRU 256 32 128 256', 'RNN 256 32 128 256'],
    },
    rounds: { type: 'string', default: '3' },
    steps: { type: 'string', default: '5' },
    python: { type: 'string', multiple: true, default: ['/usr/bin/python3'] },
    only: { type: 'string', multiple: true, default: [] },
  },
});
const torches = options.python.flatMap((python) => torchOf(python) ?? []);
const contenders = [
  ...['float32', 'bf16'].map((mode) => ({
    name: `ringrun ${mode}`,
    library: 'ringrun',
    isBfloat16: mode === 'bf16',
    command: [process.execPath, 'bench/recurrent/ringrun.js', mode],
  })),
  ...torches.flatMap((torch) =>
    modesOf(torch, { fused: false }).map(({ name, isBfloat16 }) => ({
      name: `PyTorch ${torch.version} ${name}`,
      library: 'PyTorch',
      isBfloat16,
      command: [torch.python, 'bench/recurrent/pytorch.py', name],
    })),
  ),
].filter(({ name }) => isChosen(name, options.only));

printMachine(torches);
for (const layer of options.layers) await measure(layer);

async function measure(layer) {
  const args = [...layer.split(' '), options.steps];
  const rows = await inTurns(contenders, Number(options.rounds), args, pythonEnvironment);
  const measured = rows.filter(({ times }) => times.length > 0);
  const lines = tableOf(measured, [
    [layer, ({ name }) => name],
    medianColumn('pass, ms', 'milliseconds', 4),
    medianColumn('processor, ms', 'processor', 4),
    medianColumn('first, ms', 'first', 4),
    medianColumn('MB', 'memory'),
    medianColumn('loss', 'loss', 6),
  ]);
  console.log(`\n${lines.join('\n')}\n\n${layer}, ${bestLine(measured)}`);
  for (const { name, reason } of rows) if (reason !== undefined) console.log(`skipped ${name}: ${reason}`);
}
