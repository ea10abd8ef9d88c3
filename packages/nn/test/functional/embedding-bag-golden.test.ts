import { nn, tensor, type Tensor } from '../../src/index.ts';
import { checkGoldenModules, made, type GoldenModule } from '../support/golden-modules.ts';
import '../support/one-thread.ts';

// PyTorch's numbers, as written by `test/golden/embedding_bag.py`.

const integers = (numbers: readonly number[], shape?: readonly number[]) =>
  tensor(BigInt64Array.from(numbers, BigInt), shape);
const rows = integers([3, 0, 3, 2, 6, 1, 4]);
const pairs = integers([3, 0, 3, 2, 6, 1], [2, 3]);
const offsets = integers([0, 2, 2, 5]);

/** The bags, to which the input is added. */
const bags =
  (...given: readonly [rows: Tensor, offsets?: Tensor]) =>
  (module: nn.EmbeddingBag, x: Tensor) =>
    module.forward(...given).add(x);

/** The modules of embedding_bag.py, under the same names. */
const modules: Readonly<Record<string, () => GoldenModule>> = {
  'mean of bags with offsets': () => made(new nn.EmbeddingBag(7, 5), bags(rows, offsets)),
  'sum of bags of one size': () => made(new nn.EmbeddingBag(7, 17, { mode: 'sum' }), bags(pairs)),
  'sum of weighted rows': () =>
    made(new nn.EmbeddingBag(7, 65, { mode: 'sum' }), (m, x) => m.forward(rows, offsets, x)),
  'sum of weighted rows of one size': () =>
    made(new nn.EmbeddingBag(7, 3, { mode: 'sum' }), (m, x) => m.forward(pairs, undefined, x)),
  'maximum with a last offset': () =>
    made(
      new nn.EmbeddingBag(7, 6, { mode: 'max', includeLastOffset: true }),
      bags(rows, integers([0, 4, 4, 7])),
    ),
  'mean without padding': () => made(new nn.EmbeddingBag(7, 5, { paddingIdx: 3 }), bags(rows, offsets)),
  'sum without padding': () => made(new nn.EmbeddingBag(7, 4, { mode: 'sum', paddingIdx: -1 }), bags(pairs)),
  'maximum without padding': () =>
    made(new nn.EmbeddingBag(7, 4, { mode: 'max', paddingIdx: 0 }), bags(pairs)),
};

checkGoldenModules('embedding_bag', modules);
