// The training of packages/examples-text, compared with PyTorch: `npm run bench:text -- --data FILE [--models
// bag,transformer] [--ranks 2] [--rounds 3] [--epochs N] [--batch 32] [--python PYTHON] [--only TEXT]... [--unfused]
// [--json FILE]`.
//
// Each round trains every model once in each row (whose name contains a TEXT): ringrun and PyTorch DDP over gloo in its
// modes, on the same tokens in the same order from the same initial parameters, with one thread per rank. A row is the
// median over the rounds. The first epoch, in which programs are compiled, is not timed; the growth of rank 0's memory after
// it is printed. FILE is AG News, csv or csv.gz. `--unfused` adds PyTorch's modes without its fused Adam.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { readText } from '@ringrun/examples-common';
import { parseNews, splitNews, syntheticNews } from '@ringrun/examples-text';
import { bestLine } from '../best.js';
import { printMachine } from '../machine.js';
import { modesOf, pythonEnvironment, torchOf } from '../pytorch.js';
import { isChosen, median, reasonOf, run } from '../support.js';
import { shown, tableOf } from '../table.js';

const { values: options } = parseArgs({
  options: {
    data: { type: 'string' },
    models: { type: 'string', default: 'bag,transformer' },
    ranks: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '3' },
    epochs: { type: 'string' },
    batch: { type: 'string', default: '32' },
    python: { type: 'string', default: '/usr/bin/python3' },
    only: { type: 'string', multiple: true, default: [] },
    unfused: { type: 'boolean', default: false },
    json: { type: 'string' },
  },
});
const { ranks, python } = options;
const torch = torchOf(python);
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
  ...['float32', 'bf16'].map((mode) => ({
    name: `ringrun ${mode}`,
    library: 'ringrun',
    isBfloat16: mode === 'bf16',
    command: (file) => ['bench/text/ringrun.js', mode, file],
  })),
  ...(torch ? modesOf(torch, { unfused: options.unfused }) : []).map(({ name, isBfloat16 }) => ({
    name: `PyTorch ${torch.version} ${name}`,
    library: 'PyTorch',
    isBfloat16,
    command: (file) => ['--no-python', python, 'bench/text/pytorch.py', name, file],
  })),
].filter(({ name }) => isChosen(name, options.only));
const folder = mkdtempSync(join(tmpdir(), 'ringrun-text-'));
const results = [];
try {
  printMachine(torch ? [torch] : []);
  for (const model of options.models.split(',')) await measure(model);
  if (options.json !== undefined) writeFileSync(options.json, JSON.stringify(results));
} finally {
  rmSync(folder, { recursive: true });
}

async function measure(model) {
  const { lr, epochs } = models[model];
  const file = join(folder, `${model}.json`);
  const task = {
    ...{ model, lr, lengths, seed: 1 },
    ...{ epochs: Number(options.epochs ?? epochs), batchSize: Number(options.batch) },
    ...{ vocabSize: split.vocabSize, classes: split.classes },
    ...{ train: listed(split.train), heldBack: listed(split.heldBack) },
  };
  writeFileSync(file, JSON.stringify(task));
  const rows = contenders.map((contender) => ({ ...contender, rounds: [] }));
  for (let round = 0; round < Number(options.rounds); round += 1) {
    for (const row of round % 2 === 0 ? rows : rows.toReversed()) {
      if (row.reason !== undefined) continue;
      try {
        row.rounds.push(await train(row.command(file)));
      } catch (error) {
        row.reason = reasonOf(error);
      }
    }
    console.error(`${model}: round ${round + 1} of ${options.rounds} done`);
  }
  const measured = rows.filter(({ rounds }) => rounds.length > 0).map(figuresOf);
  results.push(...measured.map((row) => ({ model, ...row })));
  const column = (head, field, digits) => [head, (row) => shown(row[field], digits)];
  const lines = tableOf(measured, [
    [model, ({ name }) => name],
    column('tokens/s', 'tokensPerSecond', 4),
    column('tokens per processor second', 'tokensPerProcessorSecond', 4),
    column('MB', 'megabytes'),
    column('growth, MiB', 'growth', 2),
    column('accuracy', 'accuracy', 4),
  ]);
  console.log(`\n${lines.join('\n')}\n\n${model}, ${bestLine(measured, 'ms per 1,000 tokens')}`);
  for (const { name, reason } of rows) if (reason !== undefined) console.log(`skipped ${name}: ${reason}`);
}

function figuresOf({ name, library, isBfloat16, rounds }) {
  const of = (value) => median(rounds.map(value));
  return {
    ...{ name, library, isBfloat16 },
    times: rounds.map(({ tokens, seconds }) => (1e6 * seconds) / tokens),
    tokensPerSecond: of(({ tokens, seconds }) => tokens / seconds),
    tokensPerProcessorSecond: of(({ tokens, processorSeconds }) => tokens / processorSeconds),
    megabytes: of(({ memory }) => memory / 1e6),
    growth: of(({ growth }) => growth),
    accuracy: of(({ accuracy }) => accuracy),
  };
}

async function train(command) {
  const args = ['launch.js', '--nproc', ranks, ...command];
  const output = await run(process.execPath, args, pythonEnvironment);
  return JSON.parse(output.trim().split('\n').at(-1));
}
