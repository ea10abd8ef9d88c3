import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { isFull } from '../../../../test/support/extent.ts';
import { padTo } from '../../../runtime/dist/data/index.js';
import { F, compileStep, nn, optim, programCache, tensor, type Tensor } from '../../src/index.ts';
import '../support/one-thread.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const { maxSize } = programCache;
beforeEach(() => {
  programCache.clear();
});
afterEach(() => {
  programCache.maxSize = maxSize;
});

class Classifier extends nn.Module {
  readonly words = new nn.Embedding(50, 32, { paddingIdx: 0 });
  readonly lstm = new nn.LSTM(32, 64, { batchFirst: true });
  readonly fc = new nn.Linear(64, 3);

  forward(tokens: Tensor, lengths: readonly number[]): Tensor {
    const { packPaddedSequence } = nn.utils.rnn;
    const packed = packPaddedSequence(this.words.forward(tokens), lengths, {
      batchFirst: true,
      enforceSorted: false,
    });
    const [, [hN]] = this.lstm.forward(packed);
    return this.fc.forward(hN.squeeze(0));
  }
}

/**
 * Trains on texts of the lengths 1 to `count`, two in a batch, padded to the smallest allowed length. Returns the growth of the
 * memory after the first third, in MiB.
 */
async function growthOver(count: number, allowed: (longest: number) => readonly number[]): Promise<number> {
  const model = new Classifier();
  const optimizer = new optim.SGD(model.parameters(), { lr: 0.1 });
  let lengths: number[] = [];
  const step = compileStep(optimizer, (tokens: Tensor, labels: Tensor) =>
    F.crossEntropy(model.forward(tokens, lengths), labels),
  );
  let before = 0;
  for (let longest = 1; longest <= count; longest += 1) {
    lengths = [longest, Math.ceil(longest / 2)];
    const samples = lengths.map((length) =>
      BigInt64Array.from({ length }, (_, place) => BigInt(1 + ((place * longest) % 49))),
    );
    const { data, shape } = padTo(allowed(longest))(samples);
    await step(tensor(data, shape), tensor(BigInt64Array.of(BigInt(longest % 3), 0n)));
    if (longest === Math.ceil(count / 3)) before = used();
  }
  return used() - before;
}

function used(): number {
  collectGarbage();
  return process.memoryUsage.rss() / 2 ** 20;
}

/** Largest growth, in MiB. 400 retained programs take 300 MiB. */
const flat = 48;

test('600 text lengths, padded to 4, compile 4 programs and keep memory constant', async () => {
  const growth = await growthOver(600, () => [75, 150, 300, 600]);
  expect(programCache.size).toBe(4);
  expect(growth).toBeLessThan(flat);
});

test('without padding, text lengths keep memory constant: the cache releases programs', async () => {
  programCache.maxSize = 4;
  const growth = await growthOver(isFull ? 600 : 60, (longest) => [longest]);
  expect(programCache.size).toBe(4);
  expect(growth).toBeLessThan(flat);
});
