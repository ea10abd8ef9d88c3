// The cost of `distribute` in a step of TensorFlow.js on two processes:
// `npm run bench:tfjs -- [--batch 8] [--ranks 2] [--rounds 5] [--json FILE]`. The model is the MNIST CNN of
// packages/examples-mnist-tfjs, on plain @tensorflow/tfjs. A round is a step of tf alone and a step of a distributed
// optimizer; rows are medians over the rounds on rank 0.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { median, run } from '../support.js';

const { values: options } = parseArgs({
  options: {
    batch: { type: 'string', default: '8' },
    ranks: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '5' },
    json: { type: 'string' },
  },
});

const folder = mkdtempSync(join(tmpdir(), 'ringrun-bench-'));
const file = join(folder, 'rounds.json');
await run('node', [
  ...['launch', '--nproc', options.ranks, 'bench/tfjs/ringrun.js'],
  ...[options.batch, options.rounds, file],
]);
const rounds = JSON.parse(readFileSync(file, 'utf8'));
rmSync(folder, { recursive: true });

const names = {
  aloneProcessor: 'processor time of a step, tf alone',
  distributedProcessor: 'processor time of a step, distributed',
  alone: 'step, tf alone',
  distributed: 'step, distributed',
  compute: '  gradients and update of tf',
  waiting: '  all-reduce and waiting for other ranks',
  overhead: '  overhead of distribute',
};
const medians = Object.fromEntries(
  Object.keys(names).map((name) => [name, median(rounds.map((r) => r[name]))]),
);
const share = medians.overhead / medians.alone;
for (const [key, name] of Object.entries(names)) {
  console.log(`${name.padEnd(60)} ${medians[key].toFixed(1).padStart(8)} ms`);
}
console.log(`overhead of distribute: ${(100 * share).toFixed(2)}% of a step of tf alone`);
if (options.json) {
  const { batch, ranks } = options;
  writeFileSync(options.json, JSON.stringify({ batch, ranks, medians, share, rounds }, null, 2));
}
