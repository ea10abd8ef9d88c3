import type { AttentionPlaces, HeadLayout } from '../../graph/attributes.ts';
import { createNode, type Node, type Value } from '../../graph/node.ts';
import type { Attributes } from '../../onnx-format/graph-builder.ts';
import { sizeOf, type ValueType } from '../../value-type.ts';
import { sumToShape } from '../broadcast.ts';
import type { OperatorFamily } from '../definition.ts';
import { add, cast, mul, where, widened } from '../elementwise.ts';
import { matmul } from '../linear-algebra.ts';
import { promotedFloat } from '../promotion.ts';
import { expand, transpose, trilu } from '../shape.ts';
import { gradientOfSoftmax, softmax } from '../softmax.ts';
import { constant } from '../source.ts';
import { dropout } from './dropout.ts';
import { plainSafeSoftmax, safeSoftmax } from './safe-softmax.ts';

/** Operands of {@link attention}. */
export interface AttentionInputs<T = Value> {
  /** float32 [..., L, E] */
  readonly query: T;
  /** float32 [..., S, E], with the batch dimensions of the query */
  readonly key: T;
  /** float32 [..., S, Ev], likewise */
  readonly value: T;
  /** Factor of the scores, a float32 scalar. */
  readonly scale: T;
  /** Broadcasts to [..., L, S]. bool: true where a query may attend to a key; float32: added to the scores. */
  readonly mask?: T | undefined;
  /** Dropout of the weights: key and limit, and factor, as `dropout` takes them. */
  readonly dropout?: readonly [numbers: T, factor: T] | undefined;
}

/** softmax(scale·query·keyᵀ + mask)·value, [..., L, Ev]; 0 for a query that attends to no key. */
export function attention(inputs: AttentionInputs, isCausal: boolean): Value {
  const { scale, dropout } = inputs;
  const dtype = promotedFloat(inputs.query, inputs.key, inputs.value);
  const [query, key, value] = [inputs.query, inputs.key, inputs.value].map((operand) => cast(operand, dtype));
  const mask = inputs.mask && widened(inputs.mask);
  const [batch, length] = [query.shape.slice(0, -2), query.shape.at(-2)!];
  return createNode(
    'Attention',
    [query, key, value, scale, ...(mask ? [mask] : []), ...(dropout ?? [])],
    { isCausal, hasMask: mask !== undefined, drops: dropout !== undefined },
    [
      { dtype: query.dtype, shape: [...batch, length, value.shape.at(-1)!] },
      { dtype: 'float32', shape: [sizeOf(batch), 2, length] },
    ],
  ).outputs[0];
}

/** softmax(scale·query·keyᵀ + mask), [..., L, S], by other operators; 0 for a query that attends to no key. */
export function attentionWeights(
  { query, key, scale, mask }: Omit<AttentionInputs, 'value' | 'dropout'>,
  isCausal: boolean,
  softmaxOfMasked = safeSoftmax,
): Value {
  const scores = matmul(mul(query, scale), lastTwoSwapped(key));
  const visible = isCausal
    ? where(causalMask(query.shape.at(-2)!, key.shape.at(-2)!), scores, constant(-Infinity))
    : scores;
  // Without a mask, each query attends at least to the first key.
  if (mask === undefined) return softmax(visible, -1);
  return softmaxOfMasked(
    mask.dtype === 'bool' ? where(mask, visible, constant(-Infinity)) : add(visible, mask),
  );
}

/** [L, S], bool: true where query i may attend to key j, j ≤ i. */
export function causalMask(length: number, keys: number): Value {
  return cast(trilu(expand(constant(1), [length, keys]), 0, false), 'bool');
}

export const attentions: OperatorFamily<'Attention' | 'AttentionGradient'> = {
  Attention: {
    takesBfloat16: true,
    differentiatesBfloat16: true,
    plain: ({ inputs, attributes: { isCausal, ...given } }) => {
      const named = namesOf(inputs, given);
      const weights = attentionWeights(named, isCausal, plainSafeSoftmax);
      return [matmul(named.dropout ? dropout(weights, ...named.dropout) : weights, named.value)];
    },
    emit: (graph, node, inputs, outputs) => {
      const { query, key, value, ...options } = namesOf(inputs, node.attributes);
      const { shape } = node.outputs[0];
      const attributes = { ...attributesOf(node, placesOf(node)), resultShape: shape };
      graph.ownNode('Attention', [query, key, value, ...optionsInPlace(options)], outputs, attributes);
    },
    omits: [1],
    gradient: (node, [d]) => (d ? gradientOf(node, d) : []),
  },
  AttentionGradient: {
    takesBfloat16: true,
    emit: (graph, node, inputs, outputs) => {
      const [d, result, statistics, ...operands] = inputs;
      const { query, key, value, ...options } = namesOf(operands, node.attributes);
      const { places } = node.attributes;
      graph.ownNode(
        'AttentionGradient',
        [d, query, key, value, result, statistics, ...optionsInPlace(options)],
        outputs,
        { ...attributesOf({ ...node, inputs: node.inputs.slice(3) }, places), targets: places.targets },
      );
    },
    adjoint: ({ inputs: [d, result, statistics, ...inputs], attributes: { isCausal, hasMask, drops } }) => ({
      of: createNode('Attention', inputs, { isCausal, hasMask, drops }, [result, statistics]),
      gradients: [d],
      positions: [0, 1, 2],
    }),
    gradient: 'ofPlain',
  },
};

/** Operands whose gradients are parts of one array receive it once. */
function gradientOf(node: Node<'Attention'>, d: Value): readonly (Value | undefined)[] {
  const { inputs, outputs, attributes } = node;
  const places = placesOf(node);
  const { targets } = places;
  const firsts = [...new Set(targets)].map((target) => targets.indexOf(target));
  const gradients = createNode(
    'AttentionGradient',
    [d, ...outputs, ...inputs],
    { ...attributes, places },
    firsts.map((operand) => inputs[operand]),
  ).outputs;
  const ofOperands = targets.map((target, operand) =>
    firsts[target] === operand ? gradients[target] : undefined,
  );
  return [...ofOperands, undefined, ...(attributes.places ? [] : [gradientOfMask(node, d)])];
}

/** Needs an array as large as all weights, like the gradient itself. In float32, because it sums over broadcast dimensions. */
function gradientOfMask({ inputs, attributes }: Node<'Attention'>, d: Value): Value | undefined {
  const named = namesOf(inputs, attributes);
  if (named.mask?.dtype !== 'float32') return undefined;
  const [query, key] = [named.query, named.key].map(widened);
  const weights = attentionWeights({ ...named, query, key }, attributes.isCausal);
  const received = widened(matmul(d, lastTwoSwapped(named.value)));
  const ofWeights = named.dropout ? dropout(received, ...named.dropout) : received;
  return sumToShape(gradientOfSoftmax(weights, ofWeights, weights.shape.length - 1), named.mask.shape);
}

function lastTwoSwapped(value: Value): Value {
  const axes = [...value.shape.keys()];
  return transpose(value, [...axes.slice(0, -2), axes.at(-1)!, axes.at(-2)!]);
}

/** Gives inputs their names. */
export function namesOf<T>(
  inputs: readonly T[],
  { hasMask, drops }: { readonly hasMask: boolean; readonly drops: boolean },
): AttentionInputs<T> {
  const [query, key, value, scale, ...rest] = inputs;
  return {
    query,
    key,
    value,
    scale,
    ...(hasMask && { mask: rest[0] }),
    ...(drops && { dropout: [rest.at(-2)!, rest.at(-1)!] }),
  };
}

function optionsInPlace({
  scale,
  mask = '',
  dropout = ['', ''],
}: Pick<AttentionInputs<string>, 'scale' | 'mask' | 'dropout'>): string[] {
  return [scale, mask, ...dropout];
}

/** The places of the heads in the arrays of a node. */
export function placesOf({ inputs, outputs, attributes }: Node<'Attention'>): AttentionPlaces {
  if (attributes.places) return attributes.places;
  const [query, key, value] = inputs;
  return {
    batch: query.shape.slice(0, -2),
    lengths: [query.shape.at(-2)!, key.shape.at(-2)!],
    sizes: [query.shape.at(-1)!, value.shape.at(-1)!],
    operands: [query, key, value].map(inOrder),
    result: inOrder(outputs[0]),
    targets: [0, 1, 2],
  };
}

/** The layout of an array [..., rows, size] whose elements are in row-major order. */
function inOrder({ shape }: ValueType): HeadLayout {
  const strides = shape.map((_, axis) => sizeOf(shape.slice(axis + 1)));
  return { first: 0, strides: strides.slice(0, -1) };
}

/** @param inputs those of Attention */
function attributesOf(
  { inputs, attributes }: Pick<Node<'Attention'>, 'inputs' | 'attributes'>,
  { batch, lengths, sizes, operands, result }: AttentionPlaces,
): Attributes {
  const [query, key, value, output] = [...operands, result].map(({ first, strides }) => [
    first,
    strides.at(-1)!,
    ...strides.slice(0, -1),
  ]);
  const { mask } = namesOf(inputs, attributes);
  return {
    sizes: [...lengths, ...sizes, ...batch],
    query,
    key,
    value,
    result: output,
    isCausal: Number(attributes.isCausal),
    mask: mask ? stridesOfMask(mask, [...batch, ...lengths]) : [0],
  };
}

/** Strides of queries, keys and batch dimensions of a mask that broadcasts to a shape: 0 for dimensions of size 1. */
export function stridesOfMask({ shape }: ValueType, to: readonly number[]): number[] {
  const added = to.length - shape.length;
  const strides = to.map((_, axis) =>
    axis < added || shape[axis - added] === 1 ? 0 : sizeOf(shape.slice(axis - added + 1)),
  );
  return [...strides.slice(-2), ...strides.slice(0, -2)];
}
