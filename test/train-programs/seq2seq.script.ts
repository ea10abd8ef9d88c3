// Sequence to sequence: a GRU encoder and a decoder, two models with one optimizer, learn to reverse a sequence.
import { F, fullLike, manualSeed, nn, optim, cat, stack, tensor, type Tensor } from '@ringrun/nn';
import { Accuracy, Trainer } from '@ringrun/train';
import * as dist from 'ringrun';

const [words, length, begin] = [8, 4, 0];

class Encoder extends nn.Module {
  readonly embedding = new nn.Embedding(words, 16);
  readonly gru = new nn.GRU(16, 48, { batchFirst: true });

  forward(source: Tensor): Tensor {
    return this.gru.forward(this.embedding.forward(source))[1];
  }
}

class Decoder extends nn.Module {
  readonly embedding = new nn.Embedding(words, 16);
  readonly gru = new nn.GRU(16, 48, { batchFirst: true });
  readonly out = new nn.Linear(48, words);

  /** Words [N, L] to the scores of the next ones, [N, L, words]. */
  forward(input: Tensor, hidden: Tensor): [scores: Tensor, hidden: Tensor] {
    const [output, next] = this.gru.forward(this.embedding.forward(input), hidden);
    return [this.out.forward(output), next];
  }
}

const sequences = (count: number, shift: number) => ({
  length: count,
  at: (i: number) => {
    const word = (_: unknown, at: number) => BigInt(1 + ((((i + shift) * 40503) >>> (3 * at)) % 7));
    const source = BigInt64Array.from({ length }, word);
    return { source, target: source.toReversed() };
  },
});
type Batch = Record<'source' | 'target', { readonly data: BigInt64Array; readonly shape: readonly number[] }>;
const asTensors = (batch: Batch) =>
  [batch.source, batch.target].map(({ data, shape }) => tensor(data, [...shape]));

await dist.initProcessGroup();
manualSeed(1);
const models = { encoder: new Encoder(), decoder: new Decoder() };
const parameters = Object.values(models).flatMap((model) => [...model.parameters()]);
const loaderOf = (dataset: ReturnType<typeof sequences>, options: dist.DistributedSamplerOptions) =>
  new dist.DataLoader(dataset, { batchSize: 32, sampler: new dist.DistributedSampler(dataset, options) });

const { validation } = await new Trainer({ maxEpochs: 10, gradientClipVal: 1, enableProgressBar: false }).fit(
  models,
  {
    trainLoader: loaderOf(sequences(1024, 0), {}),
    validationLoader: loaderOf(sequences(101, 9000), { shuffle: false, evenDivisible: false }),
    optimizer: new optim.Adam(parameters, { lr: 5e-3 }),
    // With teacher forcing: the decoder sees the right words before the one that it predicts.
    batchLoss: (batch, { encoder, decoder }) => {
      const [source, target] = asTensors(batch);
      const first = fullLike(target.at([], [0, 1]), begin);
      const input = cat([first, target.at([], [0, length - 1])], 1);
      const [scores] = decoder.forward(input, encoder.forward(source));
      return F.crossEntropy(scores.flatten(0, 1), target.flatten());
    },
    // Without it: the decoder sees its own words.
    validationStep: (batch, { encoder, decoder }) => {
      const [source, target] = asTensors(batch);
      let [hidden, word] = [encoder.forward(source), fullLike(target.at([], [0, 1]), begin)];
      const found: Tensor[] = [];
      for (let at = 0; at < length; at += 1) {
        const [scores, next] = decoder.forward(word, hidden);
        [hidden, word] = [next, scores.argmax(2)];
        found.push(word.squeeze(1));
      }
      return { predictions: stack(found, 1).flatten(), target: target.flatten() };
    },
    metrics: { accuracy: new Accuracy({ task: 'multiclass', numClasses: words }) },
  },
);
const found = { ...validation, identical: await dist.verifyIdenticalParameters(models.decoder) };
if (dist.getRank() === 0) console.log(JSON.stringify(found));
await dist.destroyProcessGroup();
