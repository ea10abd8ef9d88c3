// The cost of `distribute` in a step of TensorFlow.js on two processes:
// `npm run bench:tfjs -- [--tf @tensorflow/tfjs] [--batch 8] [--ranks 2] [--rounds 5] [--json FILE]`. The model is the MNIST
// CNN of packages/examples-mnist-tfjs. A round is a step of tf alone on every rank, a step of a distributed optimizer, and a
// step of the same network in @ringrun/nn; rows are medians over the rounds on rank 0. `scripts/build-tfjs-node.js` builds
// @tensorflow/tfjs-node; then use --batch 64 --rounds 200.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { median, run } from '../support.js';

const { values: options } = parseArgs({
  options: {
    tf: { type: 'string', default: '@tensorflow/tfjs' },
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
  ...[options.tf, options.batch, options.rounds, file],
]);
const rounds = JSON.parse(readFileSync(file, 'utf8'));
rmSync(folder, { recursive: true });

const names = {
  aloneProcessor: 'processor time of a step, tf alone',
  distributedProcessor: 'processor time of a step, distributed',
  ownProcessor: 'processor time of a step, @ringrun/nn',
  alone: 'step, tf alone',
  distributed: 'step, distributed',
  compute: '  gradients and update of tf',
  waiting: '  all-reduce and waiting for other ranks',
  overhead: '  overhead of distribute',
  own: 'step, @ringrun/nn',
};
const medians = Object.fromEntries(
  Object.keys(names).map((name) => [name, median(rounds.map((r) => r[name]))]),
);
const share = medians.overhead / medians.alone;
for (const [key, name] of Object.entries(names)) {
  console.log(`${name.padEnd(60)} ${medians[key].toFixed(1).padStart(8)} ms`);
}
for (const key of ['alone', 'distributed', 'own']) {
  const rate = Math.round((options.batch * options.ranks * 1000) / medians[key]);
  const perProcessor = Math.round((options.batch * 1000) / medians[`${key}Processor`]);
  console.log(
    `${names[key].padEnd(26)} ${rate} images/s on all ranks, ${perProcessor} per second of processor time`,
  );
}
console.log(`overhead of distribute: ${(100 * share).toFixed(2)}% of a step of tf alone`);
if (options.json) {
  const { tf, batch, ranks } = options;
  writeFileSync(options.json, JSON.stringify({ tf, batch, ranks, medians, share, rounds }, null, 2));
}
