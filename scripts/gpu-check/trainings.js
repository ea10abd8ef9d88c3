// The four trainings of the check: models of the examples, batches from a formula, and optimizers that PyTorch and JAX have too
// (models.py, jax_models.py).
import { BasicBlock, Cnn, ResNet18 } from '@ringrun/examples-cifar';
import { GPT } from '@ringrun/examples-gpt';
import { Net } from '@ringrun/examples-mnist';
import { F, compileStep, manualSeed, nn, optim, tensor } from '@ringrun/nn';

const isShort = process.env.RINGRUN_CHECK_FORM === 'short';

/** Sizes of the comparison, and in the short form, of a fake GPU. */
export const sizes = isShort
  ? { mnist: { batch: 2 }, cifar: { batch: 2 }, resnet18: { batch: 2 }, gpt: { batch: 2, context: 8 } }
  : {
      mnist: { batch: 64 },
      cifar: { batch: 64 },
      resnet18: { batch: 128 },
      gpt: { batch: 32, context: 256 },
    };

export const gptShape = isShort
  ? { vocabSize: 65, context: 8, layers: 1, heads: 2, width: 16 }
  : { vocabSize: 65, context: 256, layers: 6, heads: 6, width: 384 };

/** In the short form two residual blocks: ResNet-18 takes minutes on a fake GPU. */
const smallResNet = () =>
  new nn.Sequential(
    new nn.Conv2d(3, 4, 3, { padding: 1, stride: 4 }),
    new BasicBlock(4, 4, 1),
    new BasicBlock(4, 6, 2),
    new nn.Flatten(),
    new nn.Linear(6 * 16, 10),
  );

const images = {
  mnist: { create: () => new Net(), shape: [1, 28, 28] },
  cifar: { create: () => new Cnn(), shape: [3, 32, 32] },
  resnet18: { create: () => (isShort ? smallResNet() : new ResNet18()), shape: [3, 32, 32] },
};

export const names = Object.keys(sizes);

/**
 * A model with its compiled step and four batches.
 *
 * @param options of compileStep
 * @param wrap makes the module whose forward pass is computed, such as DistributedDataParallel
 */
export function trainingOf(name, options = {}, wrap = (model) => model) {
  manualSeed(1);
  const created = name === 'gpt' ? gpt(wrap) : classifier(images[name], wrap);
  return {
    model: created.model,
    step: compileStep(created.optimizer, created.lossOf, options),
    batches: [0, 1, 2, 3].map((seed) => batchOf(name, seed)),
  };
}

function classifier({ create }, wrap) {
  const model = create();
  const wrapped = wrap(model);
  return {
    model,
    optimizer: new optim.SGD(model.parameters(), { lr: 0.01, momentum: 0.9 }),
    lossOf: (x, y) => F.crossEntropy(wrapped.forward(x), y),
  };
}

function gpt(wrap) {
  const model = new GPT(gptShape);
  const wrapped = wrap(model);
  return {
    model,
    optimizer: new optim.AdamW(model.parameters(), { lr: 1e-3, betas: [0.9, 0.99], weightDecay: 0.1 }),
    lossOf: (x, y) => F.crossEntropy(wrapped.forward(x).view(-1, gptShape.vocabSize), y.view(-1)),
  };
}

function batchOf(name, seed) {
  const { batch } = sizes[name];
  if (name === 'gpt') {
    const { context, vocabSize } = gptShape;
    const tokens = (shift) =>
      tensor(
        BigInt64Array.from({ length: batch * context }, (_, i) =>
          BigInt(((i + shift) * 7 + seed) % vocabSize),
        ),
        [batch, context],
      );
    return [tokens(0), tokens(1)];
  }
  const { shape } = images[name];
  const length = batch * shape.reduce((product, size) => product * size);
  return [
    tensor(
      Float32Array.from({ length }, (_, i) => Math.sin(i * 12.9898 + seed)),
      [batch, ...shape],
    ),
    tensor(
      BigInt64Array.from({ length: batch }, (_, i) => BigInt((i * 7 + seed) % 10)),
      [batch],
    ),
  ];
}
