import { expect, test } from 'vitest';
import { F, manualSeed, nn, Parameter, tensor, type Tensor } from '../../src/index.ts';
import { fill } from '../support/fill.ts';
import { checkGoldenModules, made, type GoldenModule } from '../support/golden-modules.ts';
import '../support/one-thread.ts';

// PyTorch's numbers, as written by `test/golden/modules.py`.

const filled = (shape: readonly number[], seed: number) => tensor(fill(shape, seed), shape);
const padding = filled([3, 5], 4).gt(0.4);
const seen = filled([4, 5], 7).gt(-0.5);
const hidden = filled([4, 5], 7).gt(0.5);

/** The output, to which the weights add a part of the loss. */
const attended = ({ output, weights }: nn.Attended) => output.mul(weights.square().sum().add(1));

/** A function, of which no parameters are compared. */
const functional = (call: (...inputs: Tensor[]) => Tensor): GoldenModule => [new nn.Sequential(), call];

/** The modules of modules.py, under the same names. */
const modules: Readonly<Record<string, () => GoldenModule>> = {
  attention: () => functional((q, k, v) => F.scaledDotProductAttention(q, k, v)),
  'causal attention': () =>
    functional((q, k, v) => F.scaledDotProductAttention(q, k, v, { isCausal: true, scale: 0.3 })),
  'attention with a mask': () =>
    functional((q, k, v) => F.scaledDotProductAttention(q, k, v, { attnMask: seen })),
  'group norm': () => made(new nn.GroupNorm(2, 6, { eps: 1e-3 }), (m, x) => m.forward(x)),
  'group norm of rows, no weight': () =>
    made(new nn.GroupNorm(2, 6, { affine: false }), (m, x) => m.forward(x)),
  'instance norm': () => made(new nn.InstanceNorm2d(3, { affine: true }), (m, x) => m.forward(x)),
  'instance norm of sequences': () => made(new nn.InstanceNorm1d(3), (m, x) => m.forward(x)),
  'rms norm': () => made(new nn.RMSNorm(5), (m, x) => m.forward(x)),
  'self-attention': () => made(new nn.MultiheadAttention(6, 2), (m, x) => attended(m.forward(x))),
  'attention of a batch, no bias': () =>
    made(new nn.MultiheadAttention(6, 3, { bias: false, batchFirst: true }), (m, q, k, v) =>
      attended(m.forward(q, k, v)),
    ),
  'attention with masks': () =>
    made(new nn.MultiheadAttention(6, 2), (m, q, k) =>
      attended(m.forward(q, k, k, { keyPaddingMask: padding, attnMask: hidden })),
    ),
  'attention with an added mask for each head': () =>
    made(new nn.MultiheadAttention(6, 2), (m, x) =>
      attended(m.forward(x, x, x, { attnMask: filled([6, 4, 4], 8) })),
    ),
  'encoder layer': () =>
    made(new nn.TransformerEncoderLayer(6, 2, { dimFeedforward: 9, dropout: 0 }), (m, x) =>
      m.forward(x, { srcMask: nn.generateSquareSubsequentMask(4) }),
    ),
  'encoder layer, normalized first': () =>
    made(
      new nn.TransformerEncoderLayer(6, 3, {
        dimFeedforward: 7,
        dropout: 0,
        activation: 'gelu',
        batchFirst: true,
        normFirst: true,
        layerNormEps: 1e-3,
      }),
      (m, x) => m.forward(x, { srcKeyPaddingMask: padding }),
    ),
  transformer: () =>
    made(
      new nn.Transformer(6, 2, { numEncoderLayers: 2, numDecoderLayers: 1, dimFeedforward: 8, dropout: 0 }),
      (m, x, y) => m.forward(x, y, { tgtIsCausal: true }),
    ),
  bilinear: () => made(new nn.Bilinear(3, 4, 2), (m, x, y) => m.forward(x, y)),
  encoder: () => {
    const options = { dimFeedforward: 8, dropout: 0, batchFirst: true, normFirst: true };
    const layer = new nn.TransformerEncoderLayer(6, 2, options);
    return made(new nn.TransformerEncoder(layer, 2, { norm: new nn.LayerNorm(6) }), (m, x) => m.forward(x));
  },
  decoder: () => {
    const layer = new nn.TransformerDecoderLayer(6, 2, { dimFeedforward: 8, dropout: 0 });
    return made(new nn.TransformerDecoder(layer, 2), (m, x, y) =>
      m.forward(x, y, { tgtIsCausal: true, memoryKeyPaddingMask: padding }),
    );
  },
};

checkGoldenModules('modules', modules);

test('dropout drops weights and elements only in training', async () => {
  manualSeed(1);
  const layer = new nn.TransformerEncoderLayer(6, 2, { dimFeedforward: 9, dropout: 0.5 });
  const x = filled([4, 3, 6], 0);
  const read = async () => [...(await layer.forward(x).array())];
  expect(await read()).not.toEqual(await read());
  layer.eval();
  expect(await read()).toEqual(await read());
});

test('instance normalization rejects another number of dimensions or channels', () => {
  expect(() => new nn.InstanceNorm2d(3).forward(filled([3, 4, 5], 1))).toThrow(
    'InstanceNorm2d: expected float32[N,C,H,W] with C = 3, got float32[3,4,5].',
  );
  expect(() => new nn.InstanceNorm1d(3).forward(filled([2, 4, 5], 1))).toThrow(
    'InstanceNorm1d: expected float32[N,C,L] with C = 3, got float32[2,4,5].',
  );
});

test('containers list their submodules under names, as in torch', async () => {
  const first = new nn.Linear(2, 3);
  const dict = new nn.ModuleDict<nn.Linear | nn.Identity>({ first, none: new nn.Identity() });
  const list = new nn.ParameterList([new Parameter(new Float32Array(2), [2])]);
  list.append(new Parameter(new Float32Array(1), [1]));
  class Model extends nn.Module {
    dict = dict;
    list = list;
  }
  const names = [...new Model().stateDict().keys()];
  expect(names).toEqual(['dict.first.weight', 'dict.first.bias', 'list.0', 'list.1']);
  expect(dict.at('first')).toBe(first);
  expect([...dict].map(([name]) => name)).toEqual(['first', 'none']);
  expect([dict.size, list.length, [...list].length]).toEqual([2, 2, 2]);
  expect(() => dict.at('second')).toThrow("ModuleDict: expected one of first, none, got 'second'.");
  expect(new nn.Unflatten(1, [2, -1]).forward(filled([3, 6], 1)).shape).toEqual([3, 2, 3]);
  expect([
    ...(await dict
      .at('none')
      .forward(filled([2], 1))
      .array()),
  ]).toEqual([...fill([2], 1)]);
});
