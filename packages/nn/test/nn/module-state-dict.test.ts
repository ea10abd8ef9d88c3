import { BFloat16Bits, decodeSafetensors, encodeSafetensors, Float16Bits } from 'ringrun';
import { describe, expect, test } from 'vitest';
import { ArgumentError, BufferTensor, nn, Parameter, type StoredTensor } from '../../src/index.ts';

/** A submodule with a parameter and two buffers. */
class Scale extends nn.Module {
  readonly weight = new Parameter(Float32Array.of(1, 2), [2]);
  readonly runningMean = new BufferTensor(Float32Array.of(5, 6));
  readonly batches = new BufferTensor(Float32Array.of(7), []);
}

class Net extends nn.Module {
  readonly conv1 = new nn.Conv2d(1, 2, 3);
  readonly scale = new Scale();
  readonly outputLayer = new nn.Linear(2, 3, { bias: false });
}

const keys = [
  'conv1.weight',
  'conv1.bias',
  'scale.weight',
  'scale.runningMean',
  'scale.batches',
  'outputLayer.weight',
];

test('has torch’s keys, shapes and copies of the elements', () => {
  const net = new Net();
  const state = net.stateDict();
  expect([...state.keys()]).toEqual(keys);
  expect(state.get('conv1.weight')).toEqual({ shape: [2, 1, 3, 3], data: net.conv1.weight.data });
  expect(state.get('scale.runningMean')).toEqual({ shape: [2], data: Float32Array.of(5, 6) });
  expect(state.get('scale.batches')).toEqual({ shape: [], data: Float32Array.of(7) });
  net.scale.runningMean.data.fill(0);
  expect(state.get('scale.runningMean')!.data).toEqual(Float32Array.of(5, 6));
});

test.each(['Map', 'record'])('a %s is copied into the existing arrays', (form) => {
  const [from, to] = [new Net(), new Net()];
  from.scale.runningMean.data.set([8, 9]);
  const { data } = to.conv1.weight;
  const state = from.stateDict();
  expect(to.loadStateDict(form === 'Map' ? state : Object.fromEntries(state))).toEqual({
    missingKeys: [],
    unexpectedKeys: [],
  });
  state.get('conv1.weight')!.data.fill(0);
  expect(to.conv1.weight.data).toBe(data);
  expect(to.stateDict()).toEqual(from.stateDict());
});

test('without strict, reports and ignores keys of one side only', () => {
  const net = new Net();
  const before = net.stateDict();
  const state = {
    'scale.weight': { shape: [2], data: Float32Array.of(3, 4) },
    'fc.weight': before.get('conv1.bias')!,
  };
  expect(net.loadStateDict(state, { strict: false })).toEqual({
    missingKeys: keys.filter((key) => key !== 'scale.weight'),
    unexpectedKeys: ['fc.weight'],
  });
  expect(net.stateDict()).toEqual(before.set('scale.weight', state['scale.weight']));
});

test.each([
  ['a table of prefixes', { 'module.': '', 'module.fc.': 'outputLayer.' }],
  ['a function', (key: string) => key.replace(/^module\./, '').replace(/^fc\./, 'outputLayer.')],
])('keyMapping: %s renames keys', (_, keyMapping) => {
  const [from, to] = [new Net(), new Net()];
  const state = new Map(
    [...from.stateDict()].map(([key, stored]) => [`module.${key.replace('outputLayer', 'fc')}`, stored]),
  );
  expect(to.loadStateDict(state, { keyMapping })).toEqual({ missingKeys: [], unexpectedKeys: [] });
  expect(to.stateDict()).toEqual(from.stateDict());
});

test('keyMapping can leave tensors out, and the report uses the module’s keys', () => {
  const [from, to] = [new Net(), new Net()];
  const keyMapping = (key: string) => (key.startsWith('scale.') ? undefined : key.replace('conv1', 'first'));
  expect(to.loadStateDict(from.stateDict(), { keyMapping, strict: false })).toEqual({
    missingKeys: ['conv1.weight', 'conv1.bias', 'scale.weight', 'scale.runningMean', 'scale.batches'],
    unexpectedKeys: ['first.weight', 'first.bias'],
  });
  expect(to.outputLayer.weight.data).toEqual(from.outputLayer.weight.data);
});

test.each([
  ['bfloat16', BFloat16Bits, 2 ** -8],
  ['float16', Float16Bits, 2 ** -11],
] as const)(
  'castStateDict stores %s in half the bytes, and a file of it is loaded',
  (dtype, Class, error) => {
    const [from, to] = [new Net(), new Net()];
    const cast = nn.utils.castStateDict(from.stateDict(), dtype);
    for (const { data } of cast.values()) expect(data).toBeInstanceOf(Class);
    to.loadStateDict(decodeSafetensors(encodeSafetensors(cast)));
    for (const [key, { data }] of from.stateDict()) {
      const loaded = to.stateDict().get(key)!.data;
      for (const [i, element] of data.entries()) {
        expect(Math.abs(loaded[i] - element)).toBeLessThanOrEqual(error * Math.abs(element));
      }
    }
    expect(() => nn.utils.castStateDict(from.stateDict(), 'int8' as never)).toThrow("'bfloat16', got int8.");
  },
);

describe('rejects and changes nothing:', () => {
  test.each([
    [
      'two keys that map to the same one',
      () => 'scale.weight',
      'got scale.weight for conv1.weight and conv1.bias.',
    ],
    ['keys that are not strings', () => 1, 'expected a key or undefined for conv1.weight, got 1.'],
    [
      'a table of other values',
      { 'conv1.': 1 },
      "a table of prefixes such as { 'module.': '' }, got an object of Object.",
    ],
  ])('keyMapping: %s', (_, keyMapping, message) => {
    const net = new Net();
    const before = net.stateDict();
    const options = { keyMapping: keyMapping as nn.KeyMapping };
    expect(() => net.loadStateDict(new Net().stateDict(), options)).toThrow(message);
    expect(net.stateDict()).toEqual(before);
  });

  function refusal(spoil: (state: Map<string, StoredTensor>) => void, options?: { strict: boolean }): string {
    const net = new Net();
    const before = net.stateDict();
    const state = new Net().stateDict();
    state.set('scale.weight', { shape: [2], data: Float32Array.of(8, 8) });
    spoil(state);
    let message = '';
    try {
      net.loadStateDict(state, options);
    } catch (error) {
      expect(error).toBeInstanceOf(ArgumentError);
      message = (error as Error).message;
    }
    expect(net.stateDict()).toEqual(before);
    return message;
  }

  test('missing and unexpected keys and mismatched shapes, all at once', () => {
    const message = refusal((state) => {
      state.delete('conv1.bias');
      state.delete('scale.runningMean');
      state.set('fc.weight', { shape: [1], data: new Float32Array(1) });
      state.set('outputLayer.weight', { shape: [2, 3], data: new Float32Array(6) });
    });
    expect(message).toContain('missing: conv1.bias, scale.runningMean; unexpected: fc.weight; ');
    expect(message).toContain('outputLayer.weight must have shape [3,2], got [2,3]. Nothing was loaded.');
  });

  test('other shapes even when not strict', () => {
    const message = refusal(
      (state) => state.set('conv1.bias', { shape: [2, 1], data: new Float32Array(2) }),
      { strict: false },
    );
    expect(message).toContain('conv1.bias must have shape [2], got [2,1]');
  });

  test('an array whose length does not match its shape', () => {
    const message = refusal((state) => state.set('conv1.bias', { shape: [2], data: new Float32Array(3) }));
    expect(message).toContain('conv1.bias must have 2 elements for shape [2], got 3');
  });

  test('an entry that is not a stored tensor', () => {
    const message = refusal((state) => state.set('conv1.bias', [1, 2] as unknown as StoredTensor));
    expect(message).toContain('conv1.bias must be { shape, data: a typed array }, got an object of Array');
  });

  test('null instead of a state dict', () => {
    expect(() => new Net().loadStateDict(null as unknown as Map<string, StoredTensor>)).toThrow('got null');
  });

  test('two properties with one key', () => {
    class Twins extends nn.BatchNorm1d {
      readonly running_mean = new Parameter(new Float32Array(1), [1]);
    }
    expect(() => new Twins(1).stateDict()).toThrow('got running_mean for two properties. Rename one.');
  });
});
