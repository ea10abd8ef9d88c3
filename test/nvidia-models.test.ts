import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Cnn, ResNet18 } from '@ringrun/examples-cifar';
import { GPT } from '@ringrun/examples-gpt';
import { Net } from '@ringrun/examples-mnist';
import { BagOfWords, TextTransformer } from '@ringrun/examples-text';
import {
  F,
  compileStep,
  noGrad,
  optim,
  setDefaultDevice,
  setFloat32MatmulPrecision,
  tensor,
  type Tensor,
  type nn,
} from '@ringrun/nn';
import { fakeDevice } from '../native/test/gpu/fake-device.ts';
import { architectures, howToFetch, nvidia } from '../native/test/gpu/nvidia-wheels.ts';
import { compileWith, problemsOf } from '../native/test/gpu/nvrtc-report.ts';
import { executorOn } from '../packages/nn/src/executor/cuda/cuda.ts';
import { allKernels } from '../packages/nn/src/executor/cuda/kernels/index.ts';
import { lowerProgram } from '../packages/nn/src/executor/cuda/lower.ts';
import { forGpu } from '../packages/nn/src/executor/cuda/rewrites.ts';
import { unsupportedBy } from '../packages/nn/src/executor/cuda/unsupported.ts';
import type { Executor, ProgramDefinition } from '../packages/nn/src/executor/executor.ts';
import { librarySettings } from '../packages/nn/src/executor/precision.ts';
import { setGpuExecutor } from '../packages/nn/src/executor/select.ts';
import { expectCleanKernels } from '../packages/nn/test/support/generated-kernels.ts';

// NVIDIA's NVRTC compiles what the examples' models generate at their usual sizes, without a GPU and without a run:
// see `npm run test:nvrtc`.

const isAsked = process.env['RINGRUN_NVRTC'] === 'full';

/** Ends a call once its program was lowered. */
class NotRun extends Error {}

/** Generated kernels by name. */
const generated = new Map<string, string>();
/** Hand-written kernels for sizes of these models, such as those of heads of 16 elements: sources by file. */
const specialized = new Map<string, string>();
const handWritten = new Set(allKernels.map(({ source }) => source));

function lower(given: ProgramDefinition): never {
  const definition = forGpu(given);
  expect(unsupportedBy(definition)).toBeUndefined();
  for (const { commands } of lowerProgram(definition, librarySettings()).sections) {
    for (const command of commands) {
      if (command.kind !== 'launch') continue;
      const { file, name, source, isGenerated = false } = command.kernel;
      if (isGenerated) generated.set(name, source);
      else if (!handWritten.has(source)) specialized.set(file, source);
    }
  }
  throw new NotRun('lowered');
}

const images = (...shape: number[]) =>
  tensor(new Float32Array(shape.reduce((product, size) => product * size)), shape);
const integers = (...shape: number[]) =>
  tensor(new BigInt64Array(shape.reduce((product, size) => product * size)), shape);

interface Training {
  readonly model: nn.Module & { forward(x: Tensor): Tensor };
  readonly x: Tensor;
  readonly y: Tensor;
  readonly optimizer: (parameters: ReturnType<nn.Module['parameters']>) => optim.Optimizer;
}

const sgd: Training['optimizer'] = (parameters) => new optim.SGD(parameters, { lr: 0.01, momentum: 0.9 });
const adam: Training['optimizer'] = (parameters) => new optim.Adam(parameters, { lr: 1e-3 });
const adamW: Training['optimizer'] = (parameters) => new optim.AdamW(parameters, { lr: 1e-3 });

const trainings: Readonly<Record<string, () => Training>> = {
  MNIST: () => ({ model: new Net(), x: images(64, 1, 28, 28), y: integers(64), optimizer: sgd }),
  'CIFAR CNN': () => ({ model: new Cnn(), x: images(64, 3, 32, 32), y: integers(64), optimizer: adam }),
  'ResNet-18': () => ({ model: new ResNet18(), x: images(128, 3, 32, 32), y: integers(128), optimizer: sgd }),
  GPT: () => ({
    model: new GPT({ vocabSize: 65, context: 256, layers: 6, heads: 6, width: 384 }),
    x: integers(32, 256),
    y: integers(32 * 256),
    optimizer: adamW,
  }),
  'bag of words': () => ({
    model: new BagOfWords(5000, 4),
    x: integers(64, 48),
    y: integers(64),
    optimizer: adam,
  }),
  'text transformer': () => ({
    model: new TextTransformer(5000, 4, { length: 48 }),
    x: integers(64, 48),
    y: integers(64),
    optimizer: adam,
  }),
};

const formats = ['float32', 'TF32', 'bfloat16'] as const;

/** Lowers a training step and a prediction. */
async function lowerTraining(name: string, format: (typeof formats)[number]): Promise<void> {
  setFloat32MatmulPrecision(format === 'TF32' ? 'high' : 'highest');
  const { model, x, y, optimizer } = trainings[name]();
  const lossOf = (input: Tensor, classes: Tensor) => {
    const output = model.forward(input);
    return F.crossEntropy(output.view(-1, output.shape.at(-1)!), classes);
  };
  const step = compileStep(optimizer(model.parameters()), lossOf, {
    autocast: format === 'bfloat16' ? format : undefined,
    ...(name === 'GPT' ? { clipGradNorm: 1 } : {}),
  });
  await expect(step(x, y)).rejects.toThrow(NotRun);
  model.eval();
  await expect(noGrad(() => model.forward(x)).array()).rejects.toThrow(NotRun);
}

describe.skipIf(!isAsked)('kernels of the models of the examples', () => {
  let before: ReturnType<typeof setGpuExecutor>;

  beforeAll(async () => {
    const executor: Executor = { ...executorOn(fakeDevice()), compile: (definition) => lower(definition) };
    before = setGpuExecutor(() => executor);
    setDefaultDevice('cuda');
    for (const name of Object.keys(trainings)) {
      for (const format of formats) await lowerTraining(name, format);
    }
  }, 600_000);

  afterAll(() => {
    setFloat32MatmulPrecision('highest');
    setDefaultDevice(undefined);
    setGpuExecutor(before);
  });

  describe.each([12, 13] as const)('NVRTC of CUDA %i', (major) => {
    const library = nvidia.nvrtc[major];
    const problem = library === undefined ? `: it was not downloaded, ${howToFetch}` : '';

    test.skipIf(problem)(
      `compiles them without local memory${problem}`,
      async () => {
        await expectCleanKernels(library!, `CUDA ${major}, generated by models`, generated);
        expect(problemsOf(await compileWith(library!, specialized, architectures))).toEqual([]);
      },
      1_800_000,
    );
  });
});
