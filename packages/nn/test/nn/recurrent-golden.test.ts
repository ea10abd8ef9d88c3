import { nn, type Tensor } from '../../src/index.ts';
import { checkGoldenModules, made, type GoldenModule } from '../support/golden-modules.ts';
import '../support/one-thread.ts';

// PyTorch's numbers, as written by `test/golden/recurrent.py`.

const { packPaddedSequence, packSequence, padPackedSequence } = nn.utils.rnn;
type Packed = nn.utils.rnn.PackedSequence;

/** The output, to which the last states add a part of the loss. */
function both(output: Tensor, ...states: Tensor[]): Tensor {
  return output.mul(
    states.reduce((sum, state) => sum.add(state.square().sum()), states[0].mul(0).sum()).add(1),
  );
}

type Ungated = nn.RNN | nn.GRU;

const call = (module: Ungated, x: Tensor, h0?: Tensor): Tensor => both(...module.forward(x, h0));

function callLstm(module: nn.LSTM, x: Tensor, ...states: Tensor[]): Tensor {
  const [output, [h, c]] = module.forward(x, states.length > 0 ? [states[0], states[1]] : undefined);
  return both(output, h, c);
}

function callPacked(module: nn.LSTM, sequence: Packed, states: Tensor[], options = {}): Tensor {
  const [output, [h, c]] = module.forward(sequence, states.length > 0 ? [states[0], states[1]] : undefined);
  return both(padPackedSequence(output, options)[0], h, c);
}

/** Sequences packed and padded again, without a network. */
const unchanged = (...sequences: Tensor[]): Tensor =>
  padPackedSequence(packSequence(sequences), { paddingValue: 0.25, totalLength: 6 })[0];

/** The modules of recurrent.py, under the same names. */
const modules: Readonly<Record<string, () => GoldenModule>> = {
  rnn: () => made(new nn.RNN(5, 6), call),
  'rnn of relu, both directions, no bias': () => {
    const options = { nonlinearity: 'relu', bias: false, bidirectional: true, batchFirst: true } as const;
    return made(new nn.RNN(5, 7, options), call);
  },
  lstm: () => made(new nn.LSTM(4, 6), callLstm),
  'lstm of two layers, both directions, states': () =>
    made(new nn.LSTM(4, 5, { numLayers: 2, bidirectional: true }), callLstm),
  'lstm of one sequence': () => made(new nn.LSTM(3, 2), callLstm),
  'lstm of packed sequences': () =>
    made(new nn.LSTM(4, 3, { bidirectional: true }), (m, x) =>
      callPacked(m, packPaddedSequence(x, [5, 3, 1]), []),
    ),
  'lstm of packed sequences in any order': () => {
    const options = { numLayers: 2, batchFirst: true, bidirectional: true };
    return made(new nn.LSTM(3, 17, options), (m, x, ...states) => {
      const packed = packPaddedSequence(x, [2, 4, 1, 3], { batchFirst: true, enforceSorted: false });
      return callPacked(m, packed, states, { batchFirst: true, paddingValue: 0.5, totalLength: 5 });
    });
  },
  gru: () => made(new nn.GRU(5, 6), call),
  'gru of three layers, both directions': () =>
    made(new nn.GRU(2, 3, { numLayers: 3, bidirectional: true, batchFirst: true }), call),
  'gru of one sequence, no bias': () => made(new nn.GRU(3, 4, { bias: false }), call),
  'gru of packed sequences': () =>
    made(new nn.GRU(2, 5, { numLayers: 2, bidirectional: true }), (m, x) => {
      const [output, h] = m.forward(packPaddedSequence(x, [3, 4, 1], { enforceSorted: false }));
      return both(padPackedSequence(output)[0], h, h);
    }),
  'data of a packed rnn': () =>
    made(new nn.RNN(2, 3), (m, x) => {
      const [output, h] = m.forward(packPaddedSequence(x, [2, 4, 1], { enforceSorted: false }));
      return both(output.data, h);
    }),
  'packed and padded': () => [new nn.Sequential(), unchanged],
  'rnn cell': () =>
    made(new nn.RNNCell(4, 4, { nonlinearity: 'relu' }), (m, x, h) => m.forward(x.mul(0.5), m.forward(x, h))),
  'gru cell': () => made(new nn.GRUCell(4, 5), (m, x) => m.forward(x.mul(0.5), m.forward(x))),
  'gru cell of one row, no bias': () =>
    made(new nn.GRUCell(4, 5, { bias: false }), (m, x, h) => m.forward(x.mul(0.5), m.forward(x, h))),
  'lstm cell': () =>
    made(new nn.LSTMCell(4, 5), (m, x, h, c) => both(...m.forward(x.mul(0.5), m.forward(x, [h, c])))),
};

checkGoldenModules('recurrent', modules);
