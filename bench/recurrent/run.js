// Forward and backward passes of LSTM, GRU and RNN over 256 steps, compared with PyTorch: `npm run bench:recurrent --
// [--rounds 3] [--steps 5] [--python PYTHON]...`.
//
// Each round measures every contender once, on one thread. A row is the median over the rounds: the first pass, which
// compiles, a later pass, and its time on the processor, which other programs on the machine disturb less.
import { parseArgs } from 'node:util';
import { median, run } from '../support.js';

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    steps: { type: 'string', default: '5' },
    python: { type: 'string', multiple: true, default: ['/usr/bin/python3'] },
  },
});
/** Kind, steps, rows, input and hidden size. */
const layers = ['LSTM 256 32 128 256', 'LSTM 256 8 64 128', 'GRU 256 32 128 256', 'RNN 256 32 128 256'];
const contenders = [
  { name: 'ringrun', command: [process.execPath, 'bench/recurrent/ringrun.js'] },
  ...options.python.map((python) => ({
    name: python,
    command: [python, 'bench/recurrent/pytorch.py'],
  })),
];

for (const layer of layers) {
  const rounds = contenders.map(() => []);
  for (let round = 0; round < Number(options.rounds); round += 1) {
    for (const [index, { command }] of contenders.entries()) {
      const [program, ...args] = command;
      const output = await run(program, [...args, ...layer.split(' '), options.steps], {
        OMP_NUM_THREADS: '1',
      });
      rounds[index].push(JSON.parse(output));
    }
  }
  for (const [index, { name }] of contenders.entries()) {
    const of = (field, digits = 1) => median(rounds[index].map((result) => result[field])).toFixed(digits);
    console.log(
      `${layer.padEnd(22)}${name.padEnd(32)} first ${of('first').padStart(7)} ms   pass ${of('milliseconds').padStart(7)} ms   ` +
        `processor ${of('processor').padStart(7)} ms   loss ${of('loss', 5)}`,
    );
  }
}
