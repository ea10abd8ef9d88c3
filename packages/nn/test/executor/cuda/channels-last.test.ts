import { afterAll, describe, expect, test } from 'vitest';
import { fakeDevice } from '../../../../../native/test/gpu/fake-device.ts';
import {
  compileStep,
  F,
  nn,
  ones,
  optim,
  setDefaultDevice,
  tensor,
  type Tensor,
} from '../../../src/index.ts';
import { executorOn } from '../../../src/executor/cuda/cuda.ts';
import { lowerProgram } from '../../../src/executor/cuda/lower.ts';
import type { PendingCommand } from '../../../src/executor/cuda/lowered-program.ts';
import { forGpu } from '../../../src/executor/cuda/rewrites.ts';
import type { Executor, ProgramDefinition } from '../../../src/executor/executor.ts';
import { librarySettings } from '../../../src/executor/precision.ts';
import { setGpuExecutor } from '../../../src/executor/select.ts';
import { manualSeed } from '../../../src/random/generator.ts';
import { fill, fillClasses } from '../../support/fill.ts';
import '../../support/one-thread.ts';

const gpu = executorOn(fakeDevice());

/** The commands of the program that was compiled last. */
let commands: readonly PendingCommand[] = [];
const watching: Executor = {
  ...gpu,
  compile: async (definition: ProgramDefinition) => {
    const { sections } = lowerProgram(forGpu(definition), librarySettings());
    commands = sections.flatMap((section) => section.commands);
    return await gpu.compile(definition);
  },
};
const before = setGpuExecutor(() => watching);
afterAll(() => {
  setGpuExecutor(before);
  setDefaultDevice(undefined);
});

/** A residual block of torchvision's ResNets, with another number of channels and a stride. */
class Block extends nn.Module {
  readonly conv1: nn.Conv2d;
  readonly bn1: nn.BatchNorm2d;
  readonly conv2: nn.Conv2d;
  readonly bn2: nn.BatchNorm2d;
  readonly shortcut: nn.Conv2d;

  constructor(from: number, to: number, stride: number, groups = 1) {
    super();
    this.conv1 = new nn.Conv2d(from, to, 3, { stride, padding: 1, bias: false });
    this.bn1 = new nn.BatchNorm2d(to);
    this.conv2 = new nn.Conv2d(to, to, 3, { padding: 1, groups, bias: false });
    this.bn2 = new nn.BatchNorm2d(to);
    this.shortcut = new nn.Conv2d(from, to, 1, { stride });
  }

  forward(x: Tensor): Tensor {
    const inner = this.bn1.forward(this.conv1.forward(x)).relu();
    return this.bn2.forward(this.conv2.forward(inner)).add(this.shortcut.forward(x)).relu();
  }
}

interface Network {
  readonly create: () => nn.Module & { forward(x: Tensor): Tensor };
  readonly images: readonly number[];
  /** Transposes of images that are left: of the batch, of a border to another layout and of its gradient. */
  readonly transposes: number;
}

const networks: Record<string, Network> = {
  'residual blocks and a global mean': {
    create: () =>
      new nn.Sequential(
        new nn.Conv2d(3, 32, 3, { padding: 1 }),
        new nn.BatchNorm2d(32),
        new nn.ReLU(),
        new Block(32, 40, 2),
        new nn.AdaptiveAvgPool2d(1),
        new nn.Flatten(),
        new nn.Linear(40, 5),
      ),
    images: [3, 3, 7, 6],
    // The batch of images.
    transposes: 1,
  },
  'max-pools whose windows overlap or tile, and an odd size': {
    create: () =>
      new nn.Sequential(
        new nn.Conv2d(3, 32, 3, { padding: 1, stride: 2 }),
        new nn.ReLU(),
        new nn.MaxPool2d(3, { stride: 2, padding: 1 }),
        new nn.Conv2d(32, 33, 3, { padding: 1 }),
        new nn.LeakyReLU(),
        new nn.MaxPool2d(2),
        new nn.Flatten(),
        new nn.Linear(33 * 2 * 1, 5),
      ),
    images: [2, 3, 15, 11],
    // The batch of images, the last pool and its gradient.
    transposes: 3,
  },
  'a convolution of groups and average pools': {
    create: () =>
      new nn.Sequential(
        new nn.Conv2d(32, 32, 3, { padding: 2, dilation: 2 }),
        new nn.AvgPool2d(2),
        new Block(32, 32, 1, 2),
        new nn.Conv2d(32, 33, [3, 1]),
        new nn.AdaptiveAvgPool2d(1),
        new nn.Flatten(),
        new nn.Linear(33, 5),
      ),
    images: [2, 32, 8, 9],
    // The batch of images; those of the convolution of groups and their gradients; the gradient of the first pool.
    transposes: 7,
  },
};

async function train({ create, images }: Network, device: 'cpu' | 'cuda', autocast?: 'bfloat16') {
  manualSeed(7);
  setDefaultDevice(device);
  const model = create();
  const optimizer = new optim.SGD(model.parameters(), { lr: 0.05, momentum: 0.9 });
  const lossOf = (x: ReturnType<typeof ones>, y: ReturnType<typeof ones>) =>
    F.crossEntropy(model.forward(x), y);
  const step = compileStep(optimizer, lossOf, { autocast });
  const batch = [tensor(fill(images, 1), images), tensor(fillClasses(images[0], 5, 2))] as const;
  const losses: number[] = [];
  for (let i = 0; i < 3; i += 1) losses.push(await (await step(...batch)).item());
  const parameters = [...model.namedParameters()].map(([path, { data }]) => [path, [...data]] as const);
  setDefaultDevice(undefined);
  return { losses, parameters };
}

const convolutions = () => commands.filter((command) => command.kind === 'convolution');
const copies = () =>
  commands.filter((command) => command.kind === 'launch' && command.kernel.name.startsWith('copy_'));

/** Expects channels last in convolutions of one group, and this number of transposes besides those of weights and their gradients. */
function expectLayouts(transposes: number | undefined): void {
  // An average pool has the gradient of a convolution of one channel.
  const ofMany = convolutions().filter(({ weight }) => weight.shape[0] > 1);
  for (const { layout, groups, name } of ofMany) expect(layout, name).toBe(groups === 1 ? 'nhwc' : 'nchw');
  // Kernels of 1×1 have the same elements in both orders. The gradient of the input reads the weight that forward reads.
  const weights = convolutions().filter(({ layout, weight, pass }) => {
    const isSpatial = weight.shape[2] * weight.shape[3] > 1;
    return layout === 'nhwc' && isSpatial && pass !== 'inputGradient';
  });
  if (transposes !== undefined) expect(copies().length - weights.length).toBe(transposes);
}

describe.each(Object.entries(networks))('%s', (_, network) => {
  test.each(['float32', 'bfloat16'] as const)(
    'trains as on the CPU in %s, with transposes only at the borders',
    async (dtype) => {
      const autocast = dtype === 'bfloat16' ? dtype : undefined;
      const expected = await train(network, 'cpu', autocast);
      const found = await train(network, 'cuda', autocast);
      const kernels = commands.flatMap((command) => (command.kind === 'launch' ? [command.kernel.name] : []));
      const count = (name: string) => kernels.filter((kernel) => kernel === name).length;
      // The gradient of each batch normalization has its sums from one pass.
      expect(count('combineSums')).toBe(count('combineMoments'));
      expectLayouts(autocast ? undefined : network.transposes);
      for (const [i, loss] of expected.losses.entries()) {
        if (autocast) expect(Math.abs(found.losses[i] - loss)).toBeLessThan(0.02 * loss);
        else expect(found.losses[i]).toBeCloseTo(loss, 5);
      }
      if (autocast) return;
      for (const [place, [path, elements]] of expected.parameters.entries()) {
        for (const [i, element] of elements.entries()) {
          expect(Math.abs(found.parameters[place][1][i] - element), `${path}, element ${i}`).toBeLessThan(
            2e-4,
          );
        }
      }
    },
  );
});
