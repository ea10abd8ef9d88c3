import { BufferTensor } from '../../../tensor/buffer-tensor.ts';
import * as F from '../../../functional/index.ts';
import { affine } from '../../../ops/batch-normalization.ts';
import { expand } from '../../../ops/shape.ts';
import { Tensor } from '../../../tensor/tensor.ts';
import type { OperatorCall } from '../call.ts';
import { axisOf } from '../folding.ts';
import {
  flag,
  float,
  floating,
  input,
  int,
  operator,
  optional,
  requiredInt,
  since,
  until,
  type OperatorVersions,
} from '../specification.ts';
import { isSameSequence } from '../../../graph/same-data.ts';

const epsilon = float(1e-5);

const batchAttributes = {
  epsilon,
  momentum: float(0.9),
  // ringrun computes statistics per channel only, not per position.
  spatial: until(8, int(1, [1])),
  training_mode: since(14, flag(0)),
};
const statistics = (name: string) => input(name, 'U');

/** Normalization by means and variances. */
export const normalizationOperators = {
  BatchNormalization: [
    ...operator({
      until: 13,
      types: { T: floating },
      inputs: [input('X'), input('scale'), input('B'), input('input_mean'), input('input_var')],
      outputs: ['T', 'T', 'T', 'T', 'T'],
      attributes: batchAttributes,
      refuse: ({ isRead }) =>
        [1, 2, 3, 4].some(isRead)
          ? 'expected one output that is read, got statistics that are read'
          : undefined,
      compute: normalizeBatch,
    }),
    ...operator({
      since: 14,
      types: { T: floating, T1: floating, U: floating },
      inputs: [
        input('X'),
        input('scale', 'T1'),
        input('B', 'T1'),
        statistics('input_mean'),
        statistics('input_var'),
      ],
      outputs: ['T', 'U', 'U'],
      attributes: batchAttributes,
      compute: normalizeBatch,
    }),
  ],
  InstanceNormalization: operator({
    types: { T: floating },
    inputs: [input('input'), input('scale'), input('B')],
    attributes: { epsilon },
    compute: (call) =>
      F.instanceNorm(call.tensor(0), call.tensor(1), call.tensor(2), { eps: call.attributes.epsilon }),
  }),
  GroupNormalization: operator({
    since: 18,
    types: { T: floating },
    inputs: [input('X'), input('scale'), input('bias')],
    // For float32, statistics are computed in float32.
    attributes: { epsilon, num_groups: requiredInt, stash_type: since(21, int(1)) },
    compute: (call) => {
      const { epsilon: eps, num_groups: groups } = call.attributes;
      const x = call.tensor(0);
      const perChannel = (index: number) => {
        const given = call.tensor(index);
        // Before opset 21, scale and bias were one number for each group.
        if (call.opset >= 21) return given;
        return given
          .unsqueeze(1)
          .expand(-1, x.shape[1] / groups)
          .flatten();
      };
      return F.groupNorm(x, groups, perChannel(1), perChannel(2), { eps });
    },
  }),
  LayerNormalization: operator({
    since: 17,
    types: { T: floating },
    inputs: [input('X'), input('Scale'), optional('B')],
    outputs: ['T', 'float32', 'float32'],
    attributes: { axis: int(-1), epsilon, stash_type: int(1) },
    compute: (call) => {
      const x = call.tensor(0);
      const { epsilon: eps } = call.attributes;
      const first = axisOf(call.attributes.axis, x.shape.length);
      const axes = [...x.shape.keys()].slice(first);
      const shape = x.shape.slice(first);
      const [weight, bias] = [call.optional(1), call.optional(2)].map((one) => one && spread(one, shape));
      const mean = x.mean(axes, true);
      const deviation = x.var(axes, 0, true).add(eps).sqrt();
      return [F.layerNorm(x, shape, weight, bias, { eps }), mean, deviation.reciprocal()];
    },
  }),
} as const satisfies Readonly<Record<string, OperatorVersions>>;

interface BatchAttributes {
  readonly epsilon: number;
  readonly momentum: number;
  readonly training_mode: number;
}

/**
 * In training, normalizes by the batch if the running statistics are buffers of the module. Otherwise follows the node, whose
 * outputs include the updated running statistics.
 */
function normalizeBatch(call: OperatorCall<BatchAttributes>): readonly Tensor[] {
  const [x, scale, bias] = [call.tensor(0), call.tensor(1), call.tensor(2)];
  const [mean, variance] = [call.operand(3), call.operand(4)];
  const { epsilon: eps, momentum: kept, training_mode } = call.attributes;
  const asksForStatistics = [1, 2].some((output) => call.node.reads[output]);
  if (mean instanceof BufferTensor && variance instanceof BufferTensor && !asksForStatistics) {
    // ONNX's momentum is the weight of the running statistics.
    const momentum = Number((1 - kept).toPrecision(6));
    return [F.batchNorm(x, mean, variance, scale, bias, { training: call.training, momentum, eps })];
  }
  const [running, deviations] = [call.tensor(3), call.tensor(4)];
  if (training_mode === 0) return [scaled(x, { scale, bias, mean: running, variance: deviations, eps })];
  const axes = [...x.shape.keys()].filter((axis) => axis !== 1);
  const batch = { mean: x.mean(axes), variance: x.var(axes, 0) };
  const updated = (old: Tensor, current: Tensor) => old.mul(kept).add(current.mul(1 - kept));
  return [
    scaled(x, { scale, bias, ...batch, eps }),
    updated(running, batch.mean),
    updated(deviations, batch.variance),
  ];
}

interface Scaling {
  readonly scale: Tensor;
  readonly bias: Tensor;
  readonly mean: Tensor;
  readonly variance: Tensor;
  readonly eps: number;
}

function scaled(x: Tensor, { scale, bias, mean, variance, eps }: Scaling): Tensor {
  const factor = scale.div(variance.add(eps).sqrt());
  return new Tensor(affine(x.value, factor.value, bias.sub(mean.mul(factor)).value));
}

function spread(value: Tensor, shape: readonly number[]): Tensor {
  return isSameSequence(value.shape, shape) ? value : new Tensor(expand(value.value, shape));
}
