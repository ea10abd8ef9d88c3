import { createNode, type Value } from '../../graph/node.ts';
import type { Operators } from '../../graph/operators.ts';
import { refuseGradient, type OperatorFamily } from '../definition.ts';
import { mul } from '../elementwise.ts';
import { reshape } from '../shape.ts';

/** Arrays of sequences and of their targets. */
export interface LabelledSequences {
  /** [T, N, C] */
  readonly logProbs: Value;
  /** int64: [N, S], or all targets concatenated. */
  readonly targets: Value;
  /** int64 [N] */
  readonly inputLengths: Value;
  /** int64 [N] */
  readonly targetLengths: Value;
}

/** The losses of connectionist temporal classification, [N] (Graves and others, 2006). */
export function ctcLosses(sequences: LabelledSequences, attributes: Operators['CtcLoss']): Value {
  const { logProbs, targets, inputLengths, targetLengths } = sequences;
  const losses = { dtype: 'float32', shape: [logProbs.shape[1]] } as const;
  const inputs = [logProbs, targets, inputLengths, targetLengths];
  return createNode('CtcLoss', inputs, attributes, [losses, logProbs]).outputs[0];
}

export const sequenceLosses: OperatorFamily<'CtcLoss'> = {
  CtcLoss: {
    emit: (graph, { attributes: { blank, zeroInfinity } }, inputs, outputs) => {
      graph.ownNode('CtcLoss', inputs, outputs, { blank, zeroInfinity: Number(zeroInfinity) }, 'ctcLoss: ');
    },
    omits: [1],
    gradient: (node, [d, second]) => {
      // Neither has torch a second derivative.
      if (second !== undefined) refuseGradient(node, [second]);
      const [, gradient] = node.outputs;
      return [d && mul(gradient, reshape(d, [1, -1, 1]))];
    },
  },
};
