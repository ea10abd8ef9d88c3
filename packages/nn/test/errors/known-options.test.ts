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
const two = tensor(new Float32Array(4), [2, 2]);
const x = tensor(new Float32Array(16), [1, 1, 4, 4]);

describe('rejects an argument of another kind and shows the right call', () => {
  test.each([
    [
      make(nn.Conv2d, 1, 2, 3, 1, 0, 1, 1, 'zeros'),
      "Conv2d: bias must be true or false, got 'zeros'. Write new nn.Conv2d(inChannels, outChannels, kernelSize, { stride, padding, dilation, groups, bias, paddingMode }), not new nn.Conv2d(1, 2, 3, 1, 0, 1, 1, 'zeros').",
    ],
    [
      make(nn.Linear, 2),
      'Linear: outFeatures is missing. Write new nn.Linear(inFeatures, outFeatures, { bias }), not new nn.Linear(2).',
    ],
    [make(nn.Linear, 2, 2, { bias: 1 }), 'Linear: bias must be true or false, got 1.'],
    [
      make(nn.Linear, 2, { inFeatures: 2, outFeatures: 2 }),
      'Linear: expected inFeatures once, got it by position and by name.',
    ],
    [make(nn.Dropout, 0.5, false, 3), 'Dropout: expected at most 2 arguments, got 3.'],
    [
      make(nn.LogSoftmax),
      'LogSoftmax: dim is missing. Write new nn.LogSoftmax(dim), not new nn.LogSoftmax().',
    ],
    [
      make(nn.CrossEntropyLoss, null, false),
      "CrossEntropyLoss: sizeAverage is not supported, got false. Pass { reduction: 'mean' } or { reduction: 'sum' }.",
    ],
    [make(nn.MSELoss, 'sum'), "MSELoss: sizeAverage is not supported, got 'sum'."],
    [
      call(F.relu, x, true),
      'relu: inplace is not supported, got true. Tensors do not change: assign the result, as in x = F.relu(x).',
    ],
    [call(F.softmax, x, 1, null, 'int64'), "softmax: dtype is not supported, got 'int64'."],
    [
      call(F.linear, x, 3),
      'linear: weight must be a tensor, got 3. Write F.linear(input, weight, bias?), not F.linear(float32[1,1,4,4], 3).',
    ],
    [call(F.softmax, x, 'rows'), "softmax: dim must be a number, got 'rows'."],
    [make(nn.Embedding, 2, 2, null, 1), 'Embedding: maxNorm is not supported, got 1.'],
    [
      make(nn.Linear, 2, 2, true, 'cuda'),
      "Linear: device is not supported, got 'cuda'. Call module.to('cuda')",
    ],
    [make(optim.SGD, [parameter()], 'fast'), "SGD: lr must be a number, got 'fast'."],
    [
      make(optim.SGD, new nn.Linear(1, 1)),
      'SGD: expected Parameters, got an object of Linear. Pass model.parameters().',
    ],
    [
      () => new nn.Linear(1, 1).loadStateDict({}, false as never),
      'loadStateDict: expected an object of options, got false. Write it by name, as in { strict: false }.',
    ],
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
  '%s of what is no dimension shows the right call',
  (name) => {
    expect(() => two[name]('rows' as never)).toThrow(
      `${name}: dim must be a number or a list of numbers, got 'rows'. Write x.${name}(dim?, keepdim?), not x.${name}('rows').`,
    );
  },
);

test('JavaScript arithmetic on a tensor and setting requiresGrad throw errors with the fix', () => {
  expect(() => (two as never as number) + 1).toThrow(
    'Expected a number, got a Tensor, float32[2,2]. Use x.add(y)',
  );
  expect(() => (two as never as number) > 1).toThrow(ArgumentError);
  expect(`is ${two as never as string}`).toBe('is Tensor float32[2,2]');
  expect(() => (two.long().requiresGrad = true)).toThrow(
    'requiresGrad: expected a tensor of float32, because only floats have gradients, got int64[2,2]. Convert it first: x.float().',
  );
  expect(() => (new nn.Linear(1, 1).requiresGrad = false)).toThrow('Write module.requiresGrad(false)');
});
