// One rank of a fine-tuning with LoRA whose result does not depend on the number of ranks: see fixtures/run-scenario.ts.
import { readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { F, manualSeed, optim, tensor, type nn, type Tensor } from '@ringrun/nn';
import { BertForSequenceClassification, lora, loraStateDict } from '@ringrun/pretrained';
import { DistributedDataParallel, getRank, getWorldSize, profile, schedule } from 'ringrun';
import { runScenario } from './fixtures/run-scenario.ts';

const [globalBatch, steps, length] = [8, 6, 5];

function batch(step: number, first: number, count: number) {
  const ids = BigInt64Array.from({ length: count * length }, (_, i) =>
    BigInt(1 + (((first * length + i) * 7 + step) % 29)),
  );
  const labels = BigInt64Array.from({ length: count }, (_, i) => BigInt((first + i) % 2));
  return { ids: tensor(ids, [count, length]), labels: tensor(labels) };
}

function model(): BertForSequenceClassification {
  manualSeed(3);
  const bert = new BertForSequenceClassification({
    vocab_size: 30,
    hidden_size: 32,
    num_hidden_layers: 2,
    num_attention_heads: 4,
    intermediate_size: 64,
    max_position_embeddings: 8,
    hidden_dropout_prob: 0,
    attention_probs_dropout_prob: 0,
  });
  return lora(bert, { rank: 2, alpha: 8, modulesToSave: ['classifier'] });
}

const elements = (tensors: Iterable<{ readonly data: Float32Array }>) =>
  [...tensors].flatMap(({ data }) => [...data]);

const frozenOf = (bert: nn.Module) => elements(bert.parameters().filter(({ requiresGrad }) => !requiresGrad));

async function tuned(
  wrap: (bert: BertForSequenceClassification) => { forward(ids: Tensor): Tensor },
  [rank, size]: readonly [number, number],
  afterStep: () => void = () => undefined,
) {
  const bert = model();
  const [frozen, adapters] = [frozenOf(bert), elements(loraStateDict(bert).values())];
  const wrapped = wrap(bert.train());
  const optimizer = new optim.AdamW(bert.parameters(), { lr: 0.01 });
  const share = globalBatch / size;
  for (let step = 0; step < steps; step += 1) {
    const { ids, labels } = batch(step, rank * share, share);
    optimizer.zeroGrad();
    await F.crossEntropy(wrapped.forward(ids), labels).backward();
    await optimizer.step();
    afterStep();
  }
  const trained = elements(loraStateDict(bert).values());
  const isFrozenSame = frozenOf(bert).every((value, i) => value === frozen[i]);
  return { trained, adapters, isFrozenSame, total: elements(bert.parameters()).length };
}

/** With the bytes of each communication in the last steps, which rank 0 records. */
async function together() {
  const path = join(tmpdir(), `ringrun-lora-${process.ppid}.json`);
  const profiler = await profile({ path, schedule: schedule({ wait: 2, active: 3, repeat: 1 }) });
  const ranks = [getRank(), getWorldSize()] as const;
  const result = await tuned(
    (bert) => new DistributedDataParallel(bert),
    ranks,
    () => {
      profiler.step();
    },
  );
  await profiler.stop();
  if (ranks[0] !== 0) return { ...result, bytes: [] };
  const { traceEvents } = JSON.parse(readFileSync(path, 'utf8')) as {
    traceEvents: { cat?: string; args?: { bytes?: number } }[];
  };
  rmSync(path);
  const sent = traceEvents.filter(({ cat, args }) => cat === 'communication' && args?.bytes);
  return { ...result, bytes: [...new Set(sent.map(({ args }) => args!.bytes!))] };
}

await runScenario({ together }, { alone: () => tuned((bert) => bert, [0, 1]) });
