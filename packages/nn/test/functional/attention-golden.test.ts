import { F, nn, tensor, where, type Tensor } from '../../src/index.ts';
import { fill } from '../support/fill.ts';
import { checkGoldenModules, made, type GoldenModule } from '../support/golden-modules.ts';
import '../support/one-thread.ts';

// PyTorch's numbers for queries that attend to no key, as written by `test/golden/attention.py`.

/** True in some rows, where a mask is true for what is hidden. */
const whole = ([rows, columns]: readonly [number, number], ...hidden: number[]) => {
  const elements = fill([rows, columns], 4);
  return tensor(
    Array.from(elements, (one, i) => one > 0.6 || hidden.includes(Math.floor(i / columns))),
    [rows, columns],
  );
};
const blind = whole([4, 5], 1, 3);
const padded = whole([3, 5], 1);
const paddedTargets = padded.narrow(1, 0, 4);
const everything = tensor(Array<boolean>(15).fill(true), [3, 5]);
/** Query 0 attends only to key 0, which is padding in sample 2. */
const first = tensor(
  Array.from({ length: 15 }, (_, i) => i === 10),
  [3, 5],
);
const causal = nn.generateSquareSubsequentMask(5).lt(0);
const added = (mask: Tensor) => where(mask, -Infinity, 0);

const attention =
  (options: (mask?: Tensor) => F.AttentionOptions = () => ({})) =>
  (): GoldenModule => [
    new nn.Sequential(),
    (q, k, v, mask) => F.scaledDotProductAttention(q, k, v, options(mask)),
  ];
const heads = (masks: nn.MultiheadAttentionInputs) => () =>
  made(
    new nn.MultiheadAttention(6, 2, { batchFirst: true }),
    (m, q, k = q) => m.forward(q, k, k, masks).output,
  );

const options = { dimFeedforward: 9, dropout: 0, batchFirst: true };
const encoderLayer = (normFirst = false) => new nn.TransformerEncoderLayer(6, 2, { ...options, normFirst });
const decoderLayer = () => new nn.TransformerDecoderLayer(6, 2, options);

checkGoldenModules('attention', {
  'bool mask': attention(() => ({ attnMask: blind.logicalNot() })),
  'bool mask of each batch': attention(() => ({ attnMask: tensor([true, false]).view(2, 1, 1, 1) })),
  'bool mask that hides everything': attention(() => ({
    attnMask: tensor(Array<boolean>(20).fill(false), [4, 5]),
  })),
  'added mask': attention(() => ({ attnMask: added(blind) })),
  'added mask with a gradient': attention((mask) => ({ attnMask: where(blind, -Infinity, mask!) })),
  'causal, longer keys': attention(() => ({ isCausal: true })),
  'causal, shorter keys': attention(() => ({ isCausal: true })),
  'no keys': attention(),
  'heads, padding': heads({ keyPaddingMask: padded }),
  'heads, added padding': heads({ keyPaddingMask: added(padded) }),
  'heads, everything is padding': heads({ keyPaddingMask: everything }),
  'heads, mask': heads({ attnMask: blind }),
  'heads, both masks': heads({ attnMask: blind, keyPaddingMask: padded }),
  'heads, causal and padding': heads({ isCausal: true, keyPaddingMask: first }),
  'encoder layer': () => made(encoderLayer(), (m, x) => m.forward(x, { srcKeyPaddingMask: padded })),
  'encoder layer, normalized first': () =>
    made(encoderLayer(true), (m, x) => m.forward(x, { srcMask: causal, srcKeyPaddingMask: first })),
  'decoder layer': () =>
    made(decoderLayer(), (m, x, y) =>
      m.forward(x, y, { tgtKeyPaddingMask: paddedTargets, memoryKeyPaddingMask: padded }),
    ),
  encoder: () =>
    made(new nn.TransformerEncoder(encoderLayer(), 2), (m, x) =>
      m.forward(x, { srcKeyPaddingMask: everything }),
    ),
  decoder: () =>
    made(new nn.TransformerDecoder(decoderLayer(), 2), (m, x, y) =>
      m.forward(x, y, { memoryMask: blind, memoryKeyPaddingMask: padded }),
    ),
  transformer: () =>
    made(
      new nn.Transformer(6, 2, { ...options, numEncoderLayers: 1, numDecoderLayers: 1, dimFeedforward: 8 }),
      (m, x, y) =>
        m.forward(x, y, {
          srcKeyPaddingMask: padded,
          tgtKeyPaddingMask: paddedTargets,
          memoryKeyPaddingMask: padded,
        }),
    ),
});
