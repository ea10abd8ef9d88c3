// One epoch of MNIST on two processes: `npm run bench:mnist -- --data DIR [--rounds 3] [--json FILE]`. Alternates
// between ringrun and PyTorch DDP over gloo. PyTorch is python3-torch of the system's Python (`apt-get install
// python3-torch libopenblas0-pthread`); without it, only ringrun is measured.
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { runTorchRanks, torchOf } from '../pytorch.js';
import { median, run } from '../support.js';

const ranks = 2;
const { values: options } = parseArgs({
  options: {
    data: { type: 'string', default: '../shared/data/mnist' },
    rounds: { type: 'string', default: '3' },
    python: { type: 'string', default: '/usr/bin/python3' },
    json: { type: 'string' },
  },
});

const contenders = [
  { name: 'ringrun', train: trainWithRingrun },
  ...(torchOf(options.python) ? [{ name: 'PyTorch DDP (gloo)', train: trainWithPyTorch }] : []),
];
const rows = [];
for (let round = 1; round <= Number(options.rounds); round += 1) {
  for (const { name, train } of contenders) {
    const start = performance.now();
    const { seconds, accuracy } = await train();
    const row = { name, round, seconds, accuracy, commandSeconds: (performance.now() - start) / 1000 };
    rows.push(row);
    console.log(
      `round ${round}  ${name.padEnd(20)} epoch ${seconds.toFixed(2)} s  whole command ${row.commandSeconds.toFixed(2)} s  accuracy ${accuracy}`,
    );
  }
}
const summary = contenders.map(({ name }) => ({
  name,
  seconds: median(rows.filter((row) => row.name === name).map((row) => row.seconds)),
}));
for (const { name, seconds } of summary) {
  const ratio = seconds / summary[0].seconds;
  console.log(
    `${name.padEnd(20)} median ${seconds.toFixed(2)} s, ${(60_000 / seconds).toFixed(0)} images/s, ${ratio.toFixed(2)} × ringrun's time`,
  );
}
if (options.json) writeFileSync(options.json, JSON.stringify({ rows, summary }, null, 2));

async function trainWithRingrun() {
  const args = [
    'launch',
    '--nproc',
    String(ranks),
    'packages/examples-mnist/train.ts',
    '--data',
    options.data,
  ];
  const output = await run(process.execPath, args);
  return {
    seconds: Number(/\(([\d.]+) s of training\)/.exec(output)[1]),
    accuracy: Number(/accuracy=([\d.]+)/.exec(output)[1]),
  };
}

async function trainWithPyTorch() {
  const script = fileURLToPath(new URL('pytorch_ddp.py', import.meta.url));
  const [output] = await runTorchRanks(options.python, [script, '--data', options.data], ranks);
  return JSON.parse(output.trim().split('\n').at(-1));
}
