import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BertForSequenceClassification, savePretrained } from '@ringrun/pretrained';
import { expect, test } from 'vitest';
import { launch } from './support/command.ts';
import { compiledExample } from './support/compiled-example.ts';
import { repository } from './support/environment.ts';
import { temporaryFolder } from './support/temporary-folder.ts';
import { withoutWaiting } from './support/without-waiting.ts';

const folder = temporaryFolder();

async function train(...args: readonly string[]): Promise<string> {
  const command = launch(['--nproc', '2', compiledExample('examples-finetune-text'), ...args]);
  const ended = withoutWaiting(await command.ended);
  expect(ended).toMatchObject({ code: 0, timedOut: false, left: [] });
  return ended.stdout;
}

test('a small BERT learns the synthetic sentences on two ranks', async () => {
  const accuracy = Number(/^accuracy ([\d.]+)$/m.exec(await train())?.[1]);
  expect(accuracy).toBeGreaterThanOrEqual(0.95);
});

test('a pretrained BERT trains adapters and its classifier on texts of a file, and saves them for PEFT', async () => {
  const model = join(folder, 'model');
  const config = { vocab_size: 80, hidden_size: 32, num_hidden_layers: 2, num_attention_heads: 4 };
  await savePretrained(
    new BertForSequenceClassification({ ...config, intermediate_size: 37, max_position_embeddings: 16 }),
    model,
  );
  for (const name of ['tokenizer.json', 'tokenizer_config.json'])
    copyFileSync(join(repository, 'packages/pretrained/test/golden/tokenizer-bert', name), join(model, name));
  const texts = join(folder, 'texts.jsonl');
  const lines = Array.from({ length: 24 }, (_, i) => ({
    text: i % 2 ? 'good' : 'a bad night',
    label: i % 2,
  }));
  writeFileSync(texts, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  const adapter = join(folder, 'adapter');

  const stdout = await train(
    '--model',
    model,
    '--data',
    texts,
    '--epochs',
    '2',
    '--rank',
    '2',
    '--save-adapter',
    adapter,
  );

  // Rank 2 to and from 32, for query and value of two layers, and a classifier of two classes.
  expect(stdout).toMatch(new RegExp(`^trains ${2 * 2 * 2 * (2 * 32) + 2 * 32 + 2} of \\d+ parameters$`, 'm'));
  expect(stdout).toMatch(/^accuracy [01]\.\d{4}$/m);
  const saved = JSON.parse(readFileSync(join(adapter, 'adapter_config.json'), 'utf8')) as Record<
    string,
    unknown
  >;
  expect(saved).toMatchObject({ r: 2, lora_alpha: 4, base_model_name_or_path: model, task_type: 'SEQ_CLS' });
});
