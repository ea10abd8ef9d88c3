// One rank of a fine-tuning whose result does not depend on the number of ranks: see fixtures/run-scenario.ts.
import { DigitClassifier } from '@ringrun/examples-finetune';
import { F, manualSeed, optim, tensor, type Tensor } from '@ringrun/nn';
import { DistributedDataParallel, getRank, getWorldSize, loadSafetensors } from 'ringrun';
import { runScenario } from './fixtures/run-scenario.ts';

const weights = new URL('../../packages/examples-finetune/digits-0-to-4.safetensors', import.meta.url);
const [globalBatch, steps, pixels] = [16, 12, 28 * 28];

function batch(step: number, first: number, count: number) {
  const images = Float32Array.from({ length: count * pixels }, (_, i) =>
    Math.sin((step + 1) * (first * pixels + i) ** 1.5),
  );
  const labels = BigInt64Array.from({ length: count }, (_, i) => BigInt((first + i + step) % 5));
  return { images: tensor(images, [count, 1, 28, 28]), labels: tensor(labels) };
}

async function tuned(
  wrap: (model: DigitClassifier) => { forward(images: Tensor): Tensor },
  rank: number,
  size: number,
) {
  manualSeed(1);
  const model = new DigitClassifier();
  model.encoder.loadStateDict(await loadSafetensors(weights), { strict: false });
  model.encoder.requiresGrad(false);
  const dataOf = (part: DigitClassifier['encoder'] | DigitClassifier['head']) =>
    [...part.stateDict().values()].flatMap(({ data }) => [...data]);
  const before = { encoder: dataOf(model.encoder), head: dataOf(model.head) };
  const wrapped = wrap(model.train());
  const optimizer = new optim.SGD(model.parameters(), { lr: 0.1, momentum: 0.9 });
  const share = globalBatch / size;
  for (let step = 0; step < steps; step += 1) {
    const { images, labels } = batch(step, rank * share, share);
    optimizer.zeroGrad();
    await F.crossEntropy(wrapped.forward(images), labels).backward();
    await optimizer.step();
  }
  return { before, encoder: dataOf(model.encoder), head: dataOf(model.head) };
}

await runScenario(
  { together: () => tuned((model) => new DistributedDataParallel(model), getRank(), getWorldSize()) },
  { alone: () => tuned((model) => model, 0, 1) },
);
