import { describe, expect, test } from 'vitest';
import { ArgumentError, F, nn, optim, Parameter, tensor } from '../../src/index.ts';

/** A call from JavaScript, without type checks. */
const call =
  (callee: unknown, ...inputs: unknown[]) =>
  () =>
    (callee as (...inputs: unknown[]) => unknown)(...inputs);
const make =
  (callee: unknown, ...inputs: unknown[]) =>
  () =>
    new (callee as new (...inputs: unknown[]) => unknown)(...inputs);

type Case = [act: () => unknown, message: string];

function refuses(act: () => unknown, message: string): void {
  expect(act).toThrow(ArgumentError);
  expect(act).toThrow(message);
}

const parameter = () => new Parameter(new Float32Array(2), [2]);
const sgd = () => new optim.SGD([parameter()]);
const x = tensor(new Float32Array(16), [1, 1, 4, 4]);
const two = tensor(new Float32Array(4), [2, 2]);
const classes = tensor(new BigInt64Array(2));
const { lrScheduler } = optim;

describe('rejects a positional argument instead of options and shows what to write', () => {
  test.each([
    [
      make(nn.Conv2d, 1, 2, 3, 2),
      'Conv2d: expected an object of options, got 2. Write it by name, as in { stride: 2 }.',
    ],
    [
      make(nn.MaxPool2d, 2, 2),
      'MaxPool2d: expected an object of options, got 2. Write it by name, as in { stride: 2 }.',
    ],
    [make(nn.AvgPool2d, 2, 2), 'as in { stride: 2 }'],
    [
      make(nn.Linear, 2, 2, false),
      'Linear: expected an object of options, got false. Write it by name, as in { bias: false }.',
    ],
    [
      make(nn.BatchNorm1d, 2, 1e-3),
      'BatchNorm1d: expected an object of options, got 0.001. Write it by name, as in { eps: 0.001 }.',
    ],
    [make(nn.BatchNorm2d, 2, 1e-3), 'as in { eps: 0.001 }'],
    [make(nn.SyncBatchNorm, 2, 1e-3), 'SyncBatchNorm: expected'],
    [make(nn.LayerNorm, 2, 1e-3), 'as in { eps: 0.001 }'],
    [make(nn.Embedding, 2, 2, 0), 'as in { paddingIdx: 0 }'],
    [make(nn.GELU, 'tanh'), "as in { approximate: 'tanh' }"],
    [
      make(nn.CrossEntropyLoss, two),
      'CrossEntropyLoss: expected an object of options, got an object of class Tensor. Write it by name, as in { weight: … }.',
    ],
    [make(nn.NLLLoss, two), 'as in { weight: … }'],
    [make(nn.MSELoss, 'sum'), "as in { reduction: 'sum' }"],
    [make(nn.BCEWithLogitsLoss, two), 'as in { weight: … }'],
    [call(F.gelu, x, 'tanh'), 'gelu: expected'],
    [call(F.conv2d, x, x, undefined, 2), 'as in { stride: 2 }'],
    [call(F.maxPool2d, x, 2, 2), 'as in { stride: 2 }'],
    [call(F.avgPool2d, x, 2, 2), 'as in { stride: 2 }'],
    [call(F.dropout, x, 0.5, false), 'as in { training: false }'],
    [call(F.embedding, classes, two, 0), 'as in { paddingIdx: 0 }'],
    [call(F.layerNorm, two, [2], undefined, undefined, 1e-3), 'as in { eps: 0.001 }'],
    [call(F.batchNorm, two, undefined, undefined, undefined, undefined, true), 'as in { training: true }'],
    [call(F.nllLoss, two, classes, two), 'as in { weight: … }'],
    [call(F.crossEntropy, two, classes, null), 'crossEntropy: expected an object of options, got null.'],
    [call(F.mseLoss, two, two, 'sum'), "as in { reduction: 'sum' }"],
    [call(F.binaryCrossEntropyWithLogits, two, two, two), 'as in { weight: … }'],
    [
      make(optim.SGD, [parameter()], 0.1),
      'SGD: expected an object of options, got 0.1. Write it by name, as in { lr: 0.1 }.',
    ],
    [make(optim.Adam, [parameter()], 0.1), 'as in { lr: 0.1 }'],
    [make(optim.AdamW, [parameter()], 0.1), 'AdamW: expected'],
    [make(optim.Adadelta, [parameter()], 0.1), 'as in { lr: 0.1 }'],
    [make(optim.RMSprop, [parameter()], 0.1), 'as in { lr: 0.1 }'],
    [
      make(optim.SGD, new nn.Linear(1, 1)),
      'SGD: expected Parameters, got an object of Linear. Pass model.parameters().',
    ],
    [make(lrScheduler.StepLR, sgd(), 3, 0.5), 'as in { gamma: 0.5 }'],
    [make(lrScheduler.MultiStepLR, sgd(), [3], 0.5), 'as in { gamma: 0.5 }'],
    [make(lrScheduler.CosineAnnealingLR, sgd(), 3, 0.5), 'as in { etaMin: 0.5 }'],
    [make(lrScheduler.LinearLR, sgd(), 0.5), 'as in { startFactor: 0.5 }'],
    [make(lrScheduler.OneCycleLR, sgd(), 0.5, 100), 'as in { totalSteps: 100 }'],
    [call(nn.utils.clipGradNorm, [], 1, 1), 'as in { normType: 1 }'],
    [
      () => new nn.Linear(1, 1).loadStateDict({}, false as never),
      'loadStateDict: expected an object of options, got false. Write it by name, as in { strict: false }.',
    ],
    [
      make(nn.LeakyReLU, { negativeSlope: 1 }),
      'LeakyReLU: negativeSlope must be a number, got an object of Object.',
    ],
    [make(nn.Softmax, { dim: 1 }), 'Softmax: dim must be a number'],
    [make(nn.LogSoftmax), 'LogSoftmax: dim must be a number, got undefined'],
    [make(nn.Flatten, { startDim: 0 }), 'Flatten: startDim must be a number'],
    [make(nn.Dropout, { p: 0.1 }), 'Dropout: p must be a number'],
  ] as Case[])('%#', refuses);

  test('backward', async () => {
    const loss = parameter().sum();
    await expect(loss.backward(true as never)).rejects.toThrow('as in { detectAnomaly: true }');
    await loss.backward();
  });
});

describe('an unknown option is rejected with the nearest name', () => {
  test.each([
    [make(nn.Conv2d, 1, 2, 3, { strides: 2 }), 'Conv2d: strides is not an option. Did you mean stride?'],
    [
      make(nn.BatchNorm2d, 2, { track_running_stats: false }),
      'BatchNorm2d: track_running_stats is not an option. Did you mean trackRunningStats?',
    ],
    [make(nn.CrossEntropyLoss, { label_smoothing: 0.1 }), 'Did you mean labelSmoothing?'],
    [
      make(optim.SGD, [parameter()], { weight_decay: 0.1 }),
      'SGD: weight_decay is not an option. Did you mean weightDecay?',
    ],
    [
      make(optim.SGD, [parameter()], { learningRate: 0.1 }),
      'SGD: learningRate is not an option. Its options are lr, momentum, dampening, weightDecay, nesterov.',
    ],
    [make(nn.Linear, 1, 1, { constructor: 1 }), 'Linear: constructor is not an option.'],
    [make(nn.Linear, 1, 1, JSON.parse('{ "__proto__": 1 }')), 'Linear: __proto__ is not an option.'],
  ] as Case[])('%#', refuses);

  test('known options may be undefined, or come from a class or without a prototype', () => {
    class Settings {
      bias = false;
    }
    expect(new nn.Linear(1, 1, new Settings()).bias).toBeUndefined();
    expect(
      new nn.Linear(1, 1, Object.assign(Object.create(null) as object, { bias: false })).bias,
    ).toBeUndefined();
    expect(new nn.Embedding(1, 1, { paddingIdx: undefined }).weight.shape).toEqual([1, 1]);
  });
});

test.each(['sum', 'mean', 'amax', 'amin'] as const)(
  '%s of one axis without an array suggests the array',
  (name) => {
    expect(() => two[name](1 as never)).toThrow('axes must be an array, got 1. Write [1].');
  },
);

test('JavaScript arithmetic on a tensor and setting requiresGrad throw errors with the fix', () => {
  expect(() => (two as never as number) + 1).toThrow(
    'Expected a number, got a Tensor, float32[2,2]. Use x.add(y)',
  );
  expect(() => (two as never as number) > 1).toThrow(ArgumentError);
  expect(`is ${two as never as string}`).toBe('is Tensor float32[2,2]');
  expect(() => (two.requiresGrad = false)).toThrow(
    'requiresGrad cannot be set: only Parameters are trained.',
  );
  expect(() => (new nn.Linear(1, 1).requiresGrad = false)).toThrow('Write module.requiresGrad(false)');
});
