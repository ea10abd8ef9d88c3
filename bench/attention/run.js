// Forward and backward passes of scaledDotProductAttention on one thread, compared with PyTorch's: `npm run bench:attention
// -- [--sizes 8x6x256x64:causal,…] [--rounds 5] [--python PYTHON]... [--only TEXT]...`.
//
// A size is batch × heads × length × width of a head, and then `causal`, `masked` (a mask of bool) or nothing. Every round
// measures each row (whose name contains a TEXT) once, in ms of processor time; bfloat16 is autocast of both libraries, with
// query, key and value in float32.
import { parseArgs } from 'node:util';
import { bestLine } from '../best.js';
import { printMachine } from '../machine.js';
import { pythonEnvironment, torchOf } from '../pytorch.js';
import { isChosen, median } from '../support.js';
import { shown, tableOf } from '../table.js';
import { Worker } from '../worker.js';

const { values: options } = parseArgs({
  options: {
    sizes: {
      type: 'string',
      default: '8x6x256x64:causal,12x4x64x32:causal,2x8x2048x64:causal,8x6x256x64:masked',
    },
    rounds: { type: 'string', default: '5' },
    python: { type: 'string', multiple: true, default: ['/usr/bin/python3'] },
    only: { type: 'string', multiple: true, default: [] },
  },
});
const torches = options.python.flatMap((python) => torchOf(python) ?? []);
const workers = [];
try {
  printMachine(torches);
  const peers = [
    { name: 'ringrun', library: 'ringrun', command: process.execPath, script: 'bench/attention/ringrun.js' },
    ...torches.map(({ version, python }) => ({
      name: `PyTorch ${version}`,
      library: 'PyTorch',
      command: python,
      script: 'bench/attention/pytorch.py',
    })),
  ];
  const contenders = [];
  for (const { name, library, command, script } of peers) {
    const worker = await Worker.start(command, [script], pythonEnvironment);
    workers.push(worker);
    for (const isBfloat16 of [false, true]) {
      contenders.push({
        name: `${name} ${isBfloat16 ? 'bfloat16' : 'float32'}`,
        library,
        worker,
        isBfloat16,
      });
    }
  }
  const chosen = contenders.filter(({ name }) => isChosen(name, options.only));
  for (const size of options.sizes.split(',')) await measure(size, chosen);
} finally {
  for (const worker of workers) worker.end();
}

async function measure(size, contenders) {
  const [shape, kind] = size.split(':');
  const task = { shape: shape.split('x').map(Number), causal: kind === 'causal', masked: kind === 'masked' };
  const rows = contenders.map((contender) => ({ ...contender, times: [] }));
  for (let round = 0; round < Number(options.rounds); round += 1) {
    for (const row of round % 2 === 0 ? rows : rows.toReversed()) {
      if (row.reason !== undefined) continue;
      const question = JSON.stringify({ ...task, bfloat16: row.isBfloat16 });
      const { milliseconds, skipped } = await row.worker.ask(question);
      row.reason = skipped;
      if (skipped === undefined) row.times.push(milliseconds);
    }
  }
  const measured = rows.filter(({ times }) => times.length > 0);
  const lines = tableOf(measured, [
    [size, ({ name }) => name],
    ['pass, ms', ({ times }) => shown(median(times))],
  ]);
  console.log(`\n${lines.join('\n')}\n\n${size}, ${bestLine(measured)}`);
  for (const { name, reason } of rows) if (reason !== undefined) console.log(`skipped ${name}: ${reason}`);
}
