// The training of packages/examples-text, compared with PyTorch: `npm run bench:text -- --data FILE [--models
// bag,transformer] [--ranks 2] [--rounds 3] [--epochs N] [--batch 32] [--modes eager,compile] [--python PYTHON] [--json
// FILE]`.
//
// Each round trains every model once with ringrun and with PyTorch DDP over gloo in each mode, on the same tokens in
// the same order from the same initial parameters, with one thread per rank. A row is the median over the rounds. The
// first epoch, in which programs are compiled, is not timed; the growth of rank 0's memory after it is printed. FILE is
// AG News, csv or csv.gz. `--fused` uses the fused Adam of PyTorch 2.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { readText } from '@ringrun/examples-common';
import { parseNews, splitNews, syntheticNews } from '@ringrun/examples-text';
import { median, run } from '../support.js';

const { values: options } = parseArgs({
  options: {
    data: { type: 'string' },
    models: { type: 'string', default: 'bag,transformer' },
    ranks: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '3' },
    epochs: { type: 'string' },
    batch: { type: 'string', default: '32' },
    modes: { type: 'string', default: 'eager,compile' },
    python: { type: 'string', default: '/usr/bin/python3' },
    fused: { type: 'boolean', default: false },
    json: { type: 'string' },
  },
});
const { ranks, python } = options;
/** As in packages/examples-text/train.ts. */
const models = { bag: { lr: 5e-3, epochs: 10 }, transformer: { lr: 1e-3, epochs: 2 } };
const lengths = [32, 48, 64, 96, 128];
const news = options.data === undefined ? syntheticNews() : parseNews(await readText(options.data));
const split = splitNews(news, lengths.at(-1));
const listed = (texts) =>
  Array.from({ length: texts.length }, (_, index) => {
    const { tokens, label } = texts.at(index);
    return [Array.from(tokens, Number), Number(label)];
  });

const contenders = [
  { name: 'ringrun', command: (file) => ['bench/text/ringrun.js', file] },
  ...options.modes
    .split(',')
    .filter((mode) => mode !== '')
    .map((mode) => ({
      name: `PyTorch DDP, ${mode}`,
      command: (file) => ['--no-python', python, 'bench/text/pytorch.py', mode, file],
    })),
];
const folder = mkdtempSync(join(tmpdir(), 'ringrun-text-'));
const results = [];
try {
  for (const model of options.models.split(',')) {
    const { lr, epochs } = models[model];
    const file = join(folder, `${model}.json`);
    const task = {
      ...{ model, lr, lengths, seed: 1, fused: options.fused },
      ...{ epochs: Number(options.epochs ?? epochs), batchSize: Number(options.batch) },
      ...{ vocabSize: split.vocabSize, classes: split.classes },
      ...{ train: listed(split.train), heldBack: listed(split.heldBack) },
    };
    writeFileSync(file, JSON.stringify(task));
    const rounds = contenders.map(() => []);
    for (let round = 0; round < Number(options.rounds); round += 1) {
      for (const [index, { command }] of contenders.entries()) rounds[index].push(await train(command(file)));
    }
    for (const [index, { name }] of contenders.entries()) {
      const of = (value) => median(rounds[index].map(value));
      const row = {
        model,
        name,
        tokensPerSecond: of(({ tokens, seconds }) => tokens / seconds),
        tokensPerProcessorSecond: of(({ tokens, processorSeconds }) => tokens / processorSeconds),
        growth: of(({ growth }) => growth),
        accuracy: of(({ accuracy }) => accuracy),
      };
      results.push(row);
      console.log(
        `${model.padEnd(12)}${name.padEnd(22)}${row.tokensPerSecond.toFixed(0).padStart(9)} tokens/s` +
          `${row.tokensPerProcessorSecond.toFixed(0).padStart(9)} tokens per processor second  memory +${row.growth.toFixed(0)} MiB  accuracy ${row.accuracy.toFixed(4)}`,
      );
    }
  }
  if (options.json !== undefined) writeFileSync(options.json, JSON.stringify(results));
} finally {
  rmSync(folder, { recursive: true });
}

async function train(command) {
  const output = await run(process.execPath, ['launch.js', '--nproc', ranks, ...command], {
    OMP_NUM_THREADS: '1',
  });
  return JSON.parse(output.trim().split('\n').at(-1));
}
