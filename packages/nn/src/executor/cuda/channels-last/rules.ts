import { createNode, createValue, isNode, type Node, type Value } from '../../../graph/node.ts';
import type { OpName } from '../../../graph/operators.ts';
import { isSameSequence } from '../../../graph/same-data.ts';
import { add, cast, div, mul, sqrt, sub, widened } from '../../../ops/elementwise.ts';
import { concat, reshape } from '../../../ops/shape.ts';
import { constant } from '../../../ops/source.ts';
import { sizeOf, type ValueType } from '../../../value-type.ts';
import { isElementwise } from '../elementwise-operators.ts';
import { firstAxes, isEitherWay, lastAxes, lastAxis, lastShape, type Layouts } from './layouts.ts';

/** The outputs of a node that computes with channels last, as [N, C, H, W]; undefined if it stays as it is. */
type Rule<Op extends OpName> = (node: Node<Op>, layouts: Layouts) => Value | readonly Value[] | undefined;

/** The node with channels last, if it is elementwise or an operator of `rules`. */
export function withChannelsLast(node: Node, layouts: Layouts): Value | readonly Value[] | undefined {
  if (!node.outputs.some(isImage) && !node.inputs.some(isImage)) return undefined;
  if (isElementwise(node)) return elementwise(node, layouts);
  const rule = rules[node.op] as Rule<OpName> | undefined;
  return rule?.(node, layouts);
}

/** Operators that follow the layout of their input. */
const rules: { readonly [Op in OpName]?: Rule<Op> } = {
  Identity: ofFirstInput,
  Checkpoint: ofFirstInput,
  AddDependency: (node, layouts) => {
    const [x, earlier] = node.inputs.map((input) => (layouts.isLast(input) ? layouts.last(input) : input));
    if (x === node.inputs[0] && earlier === node.inputs[1]) return undefined;
    const result = createValue('AddDependency', [x, earlier], {}, x);
    return x === node.inputs[0] ? result : layouts.first(result);
  },
  Transpose: transposed,
  BatchNormalize: batchNormalization,
  ReduceSum: reduction,
  ReduceMean: reduction,
  ReduceMax: reduction,
  MaxPool: pool,
  AveragePool: pool,
  MaxUnpool: ({ inputs, outputs: [y], attributes }, layouts) => {
    if (!isImage(y) || !layouts.isLast(inputs[1])) return undefined;
    const last = { shape: lastShape(attributes.shape), channelsLast: true };
    const forms = inputs.map((input) => layouts.last(input));
    return layouts.first(createValue('MaxUnpool', forms, last, withLastShape(y)));
  },
  MaxPoolGradient: ({ inputs, outputs: [y] }, layouts) => {
    const [d, positions] = inputs.map((input) => layouts.last(input));
    if (!layouts.isLast(inputs[1]) || !isNode(positions.node, 'MaxPool')) return undefined;
    const window = positions.node.attributes;
    return layouts.first(createValue('MaxPoolGradient', [d, positions], { window }, withLastShape(y)));
  },
  Concat: ({ inputs, attributes: { axis } }, layouts) =>
    inputs.some((input) => layouts.isLast(input))
      ? layouts.first(
          concat(
            inputs.map((input) => layouts.last(input)),
            lastAxis(axis),
          ),
        )
      : undefined,
  Split: (node, layouts) => ofFirstInput(node, layouts, { axis: lastAxis(node.attributes.axis) }),
  Slice: (node, layouts) => ofFirstInput(node, layouts, { axis: lastAxis(node.attributes.axis) }),
  Pad: (node, layouts) => {
    const { before, after } = node.attributes;
    return ofFirstInput(node, layouts, { before: lastShape(before), after: lastShape(after) });
  },
};

/**
 * One operator computes mean and variance of rows [N·H·W, C]. The rest is elementwise, so that it is part of the kernel of the
 * activation after it, and the gradient reads x instead of x − mean.
 */
function batchNormalization(node: Node<'BatchNormalize'>, layouts: Layouts): readonly Value[] | undefined {
  const [x, weight, bias] = node.inputs;
  const { epsilon } = node.attributes;
  const [normalized, ...others] = node.outputs;
  if (!layouts.isLast(x)) return undefined;
  const form = layouts.last(x);
  const alongLast = (value: Value) => reshape(value, [1, 1, 1, value.shape[0]]);
  const rows = [sizeOf(x.shape) / x.shape[1], x.shape[1]];
  const types = node.outputs.map((type) => (isImage(type) ? { ...type, shape: rows } : type));
  const inputs = [reshape(form, rows), weight, bias];
  const [, mean, variance] = createNode('BatchNormalize', inputs, { epsilon }, types).outputs;
  const distances = () => sub(widened(form), alongLast(mean));
  const scale = div(weight, sqrt(add(variance, constant(epsilon))));
  const result = add(mul(distances(), alongLast(scale)), alongLast(bias));
  const centered = () => cast(distances(), others[2].dtype);
  return [layouts.first(cast(result, normalized.dtype)), mean, variance, layouts.recomputed(centered)];
}

/** A convolution or a gradient of one, with an image of two axes. */
export function convolutionWithChannelsLast(
  node: Node<'Conv' | 'ConvTranspose' | 'ConvWeightGradient'>,
  layouts: Layouts,
): Value {
  const [first, second, bias] = node.inputs as readonly [Value, Value, Value?];
  const inputs = [layouts.last(first), layouts.last(second)];
  const attributes = { ...node.attributes, channelsLast: true };
  const result = createValue<OpName>(node.op, inputs, attributes, withLastShape(node.outputs[0]));
  if (bias === undefined) return layouts.first(result);
  // An elementwise node, which becomes part of the kernel of those that follow.
  const sum = add(widened(result), reshape(widened(bias), [1, 1, 1, bias.shape[0]]));
  return layouts.first(cast(sum, result.dtype));
}

/**
 * Lets the operators after a convolution of groups, whose images are [N, C, H, W], have channels last if those before it do: only
 * its own images are transposed.
 */
export function offerChannelsLast(
  node: Node<'Conv' | 'ConvTranspose' | 'ConvWeightGradient'>,
  layouts: Layouts,
): void {
  const [y] = node.outputs;
  if (node.op === 'ConvWeightGradient' || !layouts.isLast(node.inputs[0])) return;
  layouts.computed(y, layouts.last(y));
}

function isImage({ shape }: ValueType): boolean {
  return shape.length === 4;
}

function withLastShape(type: ValueType): ValueType {
  return { dtype: type.dtype, shape: lastShape(type.shape) };
}

/**
 * An elementwise node adopts the layout of an input. Without such an input, but with none that must be transposed, such as the
 * gradient of a mean, its other form is there for a reader that needs it.
 */
function elementwise(node: Node, layouts: Layouts): readonly Value[] | undefined {
  const [result] = node.outputs;
  if (!isImage(result) || isEitherWay(result.shape)) return undefined;
  const follows = node.inputs.some((input) => layouts.isLast(input));
  if (!follows && !node.inputs.every((input) => layouts.isFree(input))) return undefined;
  const inputs = node.inputs.map((input) => layouts.last(input));
  const attributes = isNode(node, 'Expand') ? { shape: lastShape(node.attributes.shape) } : node.attributes;
  const { outputs } = createNode(node.op, inputs, attributes, node.outputs.map(withLastShape));
  if (follows) return outputs.map((output) => layouts.first(output));
  for (const [index, output] of outputs.entries()) layouts.offer(node.outputs[index], output);
  return undefined;
}

/** The node over the other form of its first input, if that is an image with channels last. Outputs are images. */
function ofFirstInput<Op extends OpName>(
  node: Node<Op>,
  layouts: Layouts,
  changed: Partial<Node<Op>['attributes']> = {},
): readonly Value[] | undefined {
  const [x, ...others] = node.inputs;
  if (!layouts.isLast(x)) return undefined;
  const attributes = { ...node.attributes, ...changed };
  const types = node.outputs.map(withLastShape);
  const { outputs } = createNode(node.op, [layouts.last(x), ...others], attributes, types);
  return outputs.map((output) => layouts.first(output));
}

/** A transpose to or from channels last in the graph itself. */
function transposed(
  { inputs: [x], outputs: [y], attributes: { perm } }: Node<'Transpose'>,
  layouts: Layouts,
): Value | undefined {
  if (isSameSequence(perm, lastAxes) && layouts.isLast(x)) return layouts.last(x);
  if (!isSameSequence(perm, firstAxes) || isEitherWay(y.shape)) return undefined;
  return layouts.computed(y, x);
}

/** Reduces before it transposes, so that only the result is transposed. */
function reduction(
  node: Node<'ReduceSum' | 'ReduceMean' | 'ReduceMax'>,
  layouts: Layouts,
): Value | undefined {
  const [x] = node.inputs;
  if (!isImage(x) || !layouts.isLast(x)) return undefined;
  const { axes } = node.attributes;
  const shape = lastShape(x.shape.map((size, axis) => (axes.includes(axis) ? 1 : size)));
  const attributes = { axes: axes.map(lastAxis).sort((a, b) => a - b), keepdims: true };
  const [y] = node.outputs;
  const reduced = createValue(node.op, [layouts.last(x)], attributes, { dtype: y.dtype, shape });
  return reshape(layouts.first(reduced), y.shape);
}

function pool(node: Node<'MaxPool' | 'AveragePool'>, layouts: Layouts): readonly Value[] | undefined {
  return isImage(node.inputs[0]) ? ofFirstInput(node, layouts, { channelsLast: true }) : undefined;
}
