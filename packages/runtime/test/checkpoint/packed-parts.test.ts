import { expect, test } from 'vitest';
import { flatten } from '../../src/checkpoint/flat-state.ts';
import { decodeParts, encodeParts } from '../../src/checkpoint/packed-parts.ts';
import { decodeSafetensors } from '../../src/checkpoint/safetensors.ts';

const filled = (length: number, value: number) => ({
  shape: [length],
  data: new Float32Array(length).fill(value),
});
const fresh = (_: string, bytes: number) => new Uint8Array(bytes);

const model = new Map([1, 2, 3, 4, 5].map((i) => [`layer${i}.weight`, filled(10 * i, i)]));
const states = {
  model: { perRank: false, states: [model] },
  random: {
    perRank: true,
    states: [0, 1, 2].map((rank) => ({ words: Int32Array.of(rank), spare: undefined })),
  },
  scheduler: { perRank: false, states: [{ lastEpoch: 3 }] },
};
const parts = new Map(
  Object.entries(states).map(([name, { perRank, states: of }]) => [
    name,
    { perRank, states: of.map((state) => flatten(state, name)) },
  ]),
);

// Tensors of 40, 80, 120, 160 and 200 bytes.
test.each([
  [undefined, ['model.safetensors']],
  [
    250,
    [
      'model-00001-of-00003.safetensors',
      'model-00002-of-00003.safetensors',
      'model-00003-of-00003.safetensors',
    ],
  ],
  [1, [1, 2, 3, 4, 5].map((i) => `model-0000${i}-of-00005.safetensors`)],
])('at most %s bytes of tensors in a file: %j', (maxBytes, expected) => {
  const files = encodeParts(parts, fresh, maxBytes) as Map<string, Uint8Array<ArrayBuffer>>;
  const names = [...files.keys()];
  expect(names.filter((name) => name.startsWith('model'))).toEqual(expected);
  // A part without tensors has no file.
  expect(names.filter((name) => name.startsWith('scheduler'))).toEqual([]);
  const back = decodeParts(files);
  expect(Object.fromEntries(back)).toEqual(states);
  expect(back.get('random')!.states[2]).toStrictEqual({ words: Int32Array.of(2), spare: undefined });
});

test('the tensors of all ranks are in one file, with the rank in the key', () => {
  const files = encodeParts(parts, fresh, 2 ** 20) as Map<string, Uint8Array<ArrayBuffer>>;
  const keys = [...decodeSafetensors(files.get('random.safetensors')!).keys()];
  expect(keys).toEqual(['rank-0.words', 'rank-1.words', 'rank-2.words']);
});

test('files are copies in the allocated memory', () => {
  const data = Float32Array.of(1, 2);
  const part = { perRank: false, states: [flatten({ weight: { shape: [2], data } }, 'net')] };
  const offered: string[] = [];
  const files = encodeParts(new Map([['net', part]]), (file, bytes) => {
    offered.push(file);
    return new Uint8Array(bytes);
  }) as Map<string, Uint8Array<ArrayBuffer>>;
  data.fill(9);
  expect(offered).toEqual(['net.safetensors']);
  expect(decodeParts(files).get('net')!.states).toEqual([
    { weight: { shape: [2], data: Float32Array.of(1, 2) } },
  ]);
});
