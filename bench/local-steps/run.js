// Validation losses of the GPT of examples-gpt after the same number of tokens, with DDP and with local steps: `npm run
// bench:local-steps -- [--data FILE] [--steps 600] [--warmup 150] [--ranks 4] [--seeds 1,2] [--way=OPTIONS]… [-- ARGS]`.
//
// Trains every row once for each seed of the initial parameters, one after the other, through the launcher. OPTIONS of DiLoCo
// after a warm-up, such as `--inner-steps 50 --alpha 0`, replace the rows below the first. ARGS are options of
// packages/examples-gpt/train.ts for all rows, such as `--width 64`. The last column is the mean over the seeds of the difference
// from DDP with the same seed. Losses do not depend on the machine's load.
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { printMachine } from '../machine.js';
import { mean, root, run } from '../support.js';
import { tableOf } from '../table.js';

const { values: options, positionals: common } = parseArgs({
  allowPositionals: true,
  options: {
    data: { type: 'string' },
    steps: { type: 'string', default: '600' },
    warmup: { type: 'string', default: '150' },
    ranks: { type: 'string', default: '4' },
    seeds: { type: 'string', default: '1,2' },
    way: { type: 'string', multiple: true, default: [] },
  },
});
const diloco = '--sync diloco';
const warmup = `--warmup-steps ${options.warmup}`;
const outer = '--outer-momentum 0.8';
const streaming = '--fragments 4 --overlap-steps 2 --transport int8';
const warmed = `${diloco} ${warmup} ${outer}`;
const samples = [
  `${diloco} --inner-steps 20`,
  `${warmed} --inner-steps 20`,
  `${warmed} --inner-steps 10`,
  `${warmed} --inner-steps 10 ${streaming}`,
  `${warmed} --inner-steps 10 ${streaming} --alpha 0.2`,
];
const given = options.way.map((way) => `${warmed} ${way}`);
const ways = ['--sync ddp', ...(given.length > 0 ? given : samples)];
const seeds = options.seeds.split(',');
const rows = ways.map((way) => ({ way, losses: [] }));

printMachine([]);
for (const seed of seeds) {
  for (const { way, losses } of rows) {
    losses.push(await lossAfter([...way.split(' '), '--seed', seed]));
    console.error(`seed ${seed}, ${way}: ${losses.at(-1)}`);
  }
}
const [{ losses: ddp }] = rows;
const differenceOf = (losses) => mean(losses.map((loss, i) => loss - ddp[i]));
console.log(
  `\nGPT of examples-gpt, ${options.ranks} ranks, ${options.steps} steps, ${common.join(' ') || 'default size'}\n`,
);
console.log(
  tableOf(rows, [
    ['options', ({ way }) => `\`${way}\``],
    ...seeds.map((seed, i) => [`seed ${seed}`, ({ losses }) => losses[i].toFixed(3)]),
    ['from DDP', ({ losses }) => differenceOf(losses).toFixed(3)],
  ]).join('\n'),
);

async function lossAfter(way) {
  const { data, steps, ranks } = options;
  const script = join(root, 'packages/examples-gpt/train.ts');
  const own = ['--steps', steps, ...(data === undefined ? [] : ['--data', data]), ...common, ...way];
  const output = await run(process.execPath, ['launch', '--nproc', ranks, script, ...own], {
    OMP_NUM_THREADS: '1',
  });
  return Number(/validation loss ([\d.]+)/.exec(output)[1]);
}
