// An LSTM that classifies texts from a file of JSON lines. Its counterpart is jsonlines.py.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { F, manualSeed, nn, optim, tensor, type Tensor } from '@ringrun/nn';
import type { Program } from './program.ts';

const words = ['good', 'great', 'fine', 'bad', 'poor', 'awful', 'film', 'plot', 'cast', 'the', 'a', 'not'];
const opinions = [1, 1, 1, -1, -1, -1, 0, 0, 0, 0, 0, 0];

/** A sample of a few words; its label is 1 if more of its words are good than bad. */
function line(i: number): string {
  const places = Array.from({ length: 4 + ((i * 7) % 9) }, (_, k) => (i * (k + 3) + k * k) % 12);
  const label = Number(places.reduce((sum, place) => sum + opinions[place], 0) > 0);
  return JSON.stringify({ text: places.map((place) => words[place]).join(' '), label });
}

class Classifier extends nn.Module {
  embedding: nn.Embedding;
  lstm: nn.LSTM;
  out: nn.Linear;

  constructor(vocabulary: number) {
    super();
    this.embedding = new nn.Embedding(vocabulary, 24, { paddingIdx: 0 });
    this.lstm = new nn.LSTM(24, 48, { batchFirst: true });
    this.out = new nn.Linear(48, 2);
  }

  forward(ids: Tensor, lengths: number[]): Tensor {
    const packed = nn.utils.rnn.packPaddedSequence(this.embedding.forward(ids), lengths, {
      batchFirst: true,
      enforceSorted: false,
    });
    const [, [hidden]] = this.lstm.forward(packed);
    return this.out.forward(hidden.at(-1));
  }
}

export function start(): Program {
  const folder = mkdtempSync(join(tmpdir(), 'jsonlines-'));
  const path = join(folder, 'train.jsonl');
  writeFileSync(path, Array.from({ length: 256 }, (_, i) => `${line(i)}\n`).join(''));
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
  rmSync(folder, { recursive: true });
  const samples = lines.map((one) => JSON.parse(one) as { text: string; label: number });

  const vocabulary = new Map([['<pad>', 0]]);
  for (const word of samples.flatMap(({ text }) => text.split(' ')))
    if (!vocabulary.has(word)) vocabulary.set(word, vocabulary.size);

  manualSeed(7);
  const model = new Classifier(vocabulary.size);
  const optimizer = new optim.Adam(model.parameters(), { lr: 1e-2 });
  let at = 0;

  async function step() {
    const batch = samples.slice(at, at + 32);
    at = (at + 32) % samples.length;
    const ids = batch.map(({ text }) => text.split(' ').map((word) => vocabulary.get(word)!));
    const padded = nn.utils.rnn.padSequence(
      ids.map((one) => tensor(one)),
      { batchFirst: true },
    );
    const lengths = ids.map((one) => one.length);
    const labels = tensor(batch.map(({ label }) => label));
    optimizer.zeroGrad();
    const loss = F.crossEntropy(model.forward(padded, lengths), labels);
    await loss.backward();
    await optimizer.step();
    return loss.item();
  }

  return { step };
}
