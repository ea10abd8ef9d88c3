// A character-level GPT (nanoGPT's configuration for a CPU), trained on 12 sequences of 64 characters per step and rank.
//
//   2 processes:  node launch --nproc 2 packages/examples-gpt/train.ts
//   checkpoints:  node launch --nproc 2 packages/examples-gpt/train.ts --output run   (add --resume to continue)
//   bfloat16:     node launch --nproc 2 packages/examples-gpt/train.ts --bf16
//   sampling:     node launch packages/examples-gpt/train.ts --output run --resume --sample 500
//
// Without --data, tiny Shakespeare is downloaded (1.1 MB). Without a network, use --data FILE, or --synthetic.
// 2,000 steps on two ranks reach a validation loss of at most 1.88 per character.
// All options: node launch packages/examples-gpt/train.ts --help

import {
  integerFrom,
  outputFolder,
  readText,
  textLocation,
  bf16Help,
  precisionOf,
} from '@ringrun/examples-common';
import {
  GPT,
  Windows,
  characterCorpus,
  decayedApart,
  lossOf,
  sample,
  syntheticText,
  warmupAndCosine,
} from '@ringrun/examples-gpt';
import { compileStep, manualSeed, noGrad, optim, tensor, type Tensor } from '@ringrun/nn';
import { Command, Option } from 'commander';
import * as dist from 'ringrun';

const shakespeare =
  'https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt';
const command = new Command('train.ts')
  .description('Trains a character-level GPT')
  .allowExcessArguments(false)
  .option('--data <location>', 'text, or text.gz: a file or a URL', textLocation, shakespeare)
  .addOption(new Option('--synthetic', 'train on synthetic sentences').default(false).conflicts('data'))
  .option('--steps <n>', 'training steps', integerFrom(1), 2000)
  .option('--batch-size <n>', 'sequences per step and rank', integerFrom(1), 12)
  .option('--context <n>', 'characters of a sequence', integerFrom(1), 64)
  .option('--layers <n>', 'blocks of the model', integerFrom(1), 4)
  .option('--heads <n>', 'attention heads of a block', integerFrom(1), 4)
  .option('--width <n>', 'size of a token in the model, a multiple of --heads', integerFrom(1), 128)
  .option('--bf16', bf16Help, false)
  .option('--seed <n>', 'random seed for initial parameters and sampling', integerFrom(0), 1)
  .option('--output <location>', 'folder or s3://bucket/prefix for checkpoints', outputFolder)
  .option('--checkpoint-interval <n>', 'steps between checkpoints', integerFrom(1), 500)
  .option('--resume [checkpoint]', 'resume from a path, or from the newest checkpoint in --output')
  .option('--sample <n>', 'after training, print n characters drawn from the model', integerFrom(0), 0);

interface Settings extends Record<'steps' | 'batchSize' | 'context' | 'layers' | 'heads' | 'width', number> {
  data: string;
  synthetic: boolean;
  bf16: boolean;
  seed: number;
  output?: string;
  checkpointInterval: number;
  resume?: string | true;
  sample: number;
}
const settings = command.parse().opts<Settings>();
const { steps, batchSize, context, seed, layers, heads, width } = settings;

await dist.initProcessGroup();
const [rank, ranks] = [dist.getRank(), dist.getWorldSize()];
const log = (line: string) => {
  if (rank === 0) console.log(line);
};
const text = settings.synthetic ? syntheticText() : await readText(settings.data);
const { characters, train, validation } = characterCorpus(text);

manualSeed(seed);
const gpt = new GPT({ vocabSize: characters.length, context, layers, heads, width });
const model = new dist.DistributedDataParallel(gpt);
const optimizer = new optim.AdamW(decayedApart(gpt), { lr: 1e-3, betas: [0.9, 0.99], weightDecay: 0.1 });
const scheduler = new optim.lrScheduler.LambdaLR(optimizer, (step) => warmupAndCosine(step, steps));
const trainStep = compileStep(optimizer, (input: Tensor, target: Tensor) => lossOf(model, input, target), {
  clipGradNorm: 1,
  ...precisionOf(settings),
});

const checkpoints =
  settings.output === undefined ? undefined : new dist.Checkpointer({ dir: settings.output });
checkpoints?.register({ model, optimizer, scheduler });
const resumed = await checkpoints?.resume(settings.resume === true ? 'auto' : settings.resume);
let step = resumed?.step ?? 0;
if (resumed) log(`resumed from ${resumed.path}: step ${step}`);
if (step < steps) await trainFrom(step);
await checkpoints?.finished();
log(
  `parameters identical on ${ranks} ${ranks === 1 ? 'rank' : 'ranks'}: ${await dist.verifyIdenticalParameters(model)}`,
);
const { loss, count } = await evaluate();
log(`validation loss ${loss.toFixed(4)} per character on ${count} characters`);
await dist.destroyProcessGroup();
if (settings.sample > 0 && rank === 0) {
  manualSeed(seed);
  console.log(await sample(gpt, characters, context, { length: settings.sample }));
}

/** Trains on the windows that no earlier step has used. */
async function trainFrom(first: number): Promise<void> {
  const [from, until] = [first, steps].map((at) => at * batchSize * ranks);
  const windows = Windows.scattered(train, context, { from, until });
  const sampler = new dist.DistributedSampler(windows, { shuffle: false });
  const loader = new dist.DataLoader(windows, { batchSize, sampler, reuseMemory: true });
  const report = await dist.trainingReport({
    samples: windows.length,
    unit: 'sequences',
    logInterval: 100,
    stepsBefore: first,
  });
  for await (const { input, target } of report.epoch(1, loader)) {
    const loss = await trainStep(tensor(input.data, input.shape), tensor(target.data, target.shape));
    await report.step({ loss, samples: batchSize, lr: optimizer.paramGroups[0].lr });
    scheduler.step();
    step += 1;
    if (step % settings.checkpointInterval === 0 || step === steps) await checkpoints?.save({ step });
    else await checkpoints?.saveIfPreempted({ step });
  }
  await report.end();
}

/** The mean loss over the validation text, of which every rank computes its share. */
async function evaluate(): Promise<{ loss: number; count: number }> {
  const windows = new Windows(validation, context);
  const share = new dist.DistributedSampler(windows, { shuffle: false, evenDivisible: false });
  const sums = new Float64Array(2);
  for await (const { input, target } of new dist.DataLoader(windows, { batchSize: 64, sampler: share })) {
    const loss = noGrad(() =>
      lossOf(gpt, tensor(input.data, input.shape), tensor(target.data, target.shape)),
    );
    sums[0] += (await loss.item()) * target.data.length;
    sums[1] += target.data.length;
  }
  await dist.allReduce(sums);
  return { loss: sums[0] / sums[1], count: sums[1] };
}
