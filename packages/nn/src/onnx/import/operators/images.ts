import { BufferTensor } from '../../../buffer-tensor.ts';
import * as F from '../../../functional/index.ts';
import { affine } from '../../../ops/batch-normalization.ts';
import { conv, convTranspose } from '../../../ops/convolution.ts';
import { averagePool, maxPool, padsForLastWindow } from '../../../ops/pooling.ts';
import { Tensor } from '../../../tensor.ts';
import type { OperatorCall, OperatorRules } from '../call.ts';
import { resize } from './resize.ts';

/** Operators of sequences, images and volumes, [N, C, …]. */
export const imageRules: OperatorRules = {
  Conv: (call) => {
    const [x, weight, bias] = [call.tensor(0), call.tensor(1), call.optional(2)];
    const { strides, pads, dilations } = windowOf(call, weight.shape.slice(2));
    const attributes = { strides, pads, dilations, group: call.int('group', 1) };
    return new Tensor(conv(x.value, weight.value, bias?.value, attributes));
  },
  ConvTranspose: (call) => {
    const [x, weight, bias] = [call.tensor(0), call.tensor(1), call.optional(2)];
    const kernel = weight.shape.slice(2);
    const { strides, pads, dilations } = windowOf(call, kernel);
    if (call.ints('output_shape')) throw call.error('expected output_padding, got output_shape');
    const extra = call.ints('output_padding') ?? kernel.map(() => 0);
    const spatial = x.shape.slice(2).map((size, axis) => {
      const reach = dilations[axis] * (kernel[axis] - 1) + 1;
      return (size - 1) * strides[axis] + reach + extra[axis] - pads[axis] - pads[axis + kernel.length];
    });
    const attributes = { strides, pads, dilations, group: call.int('group', 1) };
    return new Tensor(convTranspose(x.value, weight.value, attributes, spatial, bias?.value));
  },
  MaxPool: (call) => {
    const { kernelShape, strides, pads, dilations } = windowOf(call);
    const dilation = dilations.every((one) => one === 1) ? {} : { dilations };
    const attributes = { kernelShape, strides, pads, ...dilation };
    return new Tensor(maxPool(call.tensor(0).value, attributes));
  },
  AveragePool: (call) => {
    const countIncludePad = call.int('count_include_pad', 0) === 1;
    if (call.int('ceil_mode', 0)) return averageToTheEnd(call, countIncludePad);
    const { kernelShape, strides, pads } = windowOf(call);
    return new Tensor(averagePool(call.tensor(0).value, { kernelShape, strides, pads, countIncludePad }));
  },
  GlobalAveragePool: (call) => call.tensor(0).mean(imageAxes(call), true),
  GlobalMaxPool: (call) => call.tensor(0).amax(imageAxes(call), true),
  BatchNormalization: normalizeBatch,
  InstanceNormalization: (call) =>
    F.instanceNorm(call.tensor(0), call.tensor(1), call.tensor(2), { eps: call.float('epsilon', 1e-5) }),
  GroupNormalization: (call) => {
    const [x, groups] = [call.tensor(0), call.int('num_groups', 1)];
    const eps = call.float('epsilon', 1e-5);
    const perChannel = (index: number) => {
      const given = call.tensor(index);
      const repeats = x.shape[1] / given.shape[0];
      // Before opset 21, scale and bias were one number for each group.
      return repeats === 1 ? given : given.unsqueeze(1).expand(-1, repeats).flatten();
    };
    return F.groupNorm(x, groups, perChannel(1), perChannel(2), { eps });
  },
  Resize: resize,
  Upsample: resize,
  DepthToSpace: (call) => {
    const [x, r] = [call.tensor(0), call.int('blocksize', 1)];
    if (call.string('mode', 'DCR') === 'CRD') return F.pixelShuffle(x, r);
    const [n, channels, height, width] = x.shape;
    const kept = channels / (r * r);
    return x
      .view(n, r, r, kept, height, width)
      .permute(0, 3, 4, 1, 5, 2)
      .view(n, kept, height * r, width * r);
  },
  SpaceToDepth: (call) => {
    const [x, r] = [call.tensor(0), call.int('blocksize', 1)];
    const [n, channels, height, width] = x.shape;
    return x
      .view(n, channels, height / r, r, width / r, r)
      .permute(0, 3, 5, 1, 2, 4)
      .view(n, channels * r * r, height / r, width / r);
  },
};

/** By the batch in training, if its running statistics are buffers of the module; otherwise by the given ones. */
function normalizeBatch(call: OperatorCall): Tensor {
  const [x, scale, bias] = [call.tensor(0), call.tensor(1), call.tensor(2)];
  const [mean, variance] = [call.operand(3), call.operand(4)];
  const eps = call.float('epsilon', 1e-5);
  if (mean instanceof BufferTensor && variance instanceof BufferTensor) {
    // ONNX's momentum is the weight of the running statistics.
    const momentum = Number((1 - call.float('momentum', 0.9)).toPrecision(6));
    return F.batchNorm(x, mean, variance, scale, bias, { training: call.training, momentum, eps });
  }
  const factor = scale.div(call.tensor(4).add(eps).sqrt());
  return new Tensor(affine(x.value, factor.value, bias.sub(call.tensor(3).mul(factor)).value));
}

function averageToTheEnd(call: OperatorCall, countIncludePad: boolean): Tensor {
  const kernel = call.ints('kernel_shape') ?? [];
  const pads = call.ints('pads') ?? [...kernel, ...kernel].map(() => 0);
  const padding = pads.slice(0, kernel.length);
  if (padding.join() !== pads.slice(kernel.length).join()) {
    throw call.error('expected equal pads on both sides with ceil_mode');
  }
  const pool = [F.avgPool1d, F.avgPool2d, F.avgPool3d][kernel.length - 1] as PoolOfAnySize;
  const stride = call.ints('strides') ?? kernel.map(() => 1);
  return pool(call.tensor(0), kernel, { stride, padding, ceilMode: true, countIncludePad });
}

type PoolOfAnySize = (input: Tensor, kernelSize: readonly number[], options: object) => Tensor;

function imageAxes(call: OperatorCall): number[] {
  return [...call.tensor(0).shape.keys()].slice(2);
}

interface Window {
  readonly kernelShape: readonly number[];
  readonly strides: readonly number[];
  readonly pads: readonly number[];
  readonly dilations: readonly number[];
}

function windowOf(call: OperatorCall, kernel?: readonly number[]): Window {
  const kernelShape = call.ints('kernel_shape') ?? kernel ?? [];
  const ones = kernelShape.map(() => 1);
  const strides = call.ints('strides') ?? ones;
  const dilations = call.ints('dilations') ?? ones;
  const pads = padsOf(call, { kernelShape, strides, dilations });
  return { kernelShape, strides, dilations, pads };
}

function padsOf(call: OperatorCall, { kernelShape, strides, dilations }: Omit<Window, 'pads'>): number[] {
  const auto = call.string('auto_pad', 'NOTSET');
  const spatial = call.tensor(0).shape.slice(2);
  const reach = kernelShape.map((size, axis) => dilations[axis] * (size - 1) + 1);
  if (auto === 'NOTSET' || auto === 'VALID') {
    const given = auto === 'VALID' ? undefined : call.ints('pads');
    const pads = [...(given ?? [...kernelShape, ...kernelShape].map(() => 0))];
    return call.int('ceil_mode', 0) ? padsForLastWindow(spatial, { reach, strides, pads }) : pads;
  }
  if (call.node.op === 'ConvTranspose') throw call.error(`expected pads, got auto_pad ${auto}`);
  const totals = spatial.map((size, axis) =>
    Math.max(0, (Math.ceil(size / strides[axis]) - 1) * strides[axis] + reach[axis] - size),
  );
  const before = totals.map((total) =>
    auto === 'SAME_LOWER' ? Math.ceil(total / 2) : Math.floor(total / 2),
  );
  return [...before, ...totals.map((total, axis) => total - before[axis])];
}
