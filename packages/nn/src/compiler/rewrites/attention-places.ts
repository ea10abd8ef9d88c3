import type { AttentionPlaces, HeadLayout } from '../../graph/attributes.ts';
import { createNode, isNode, type Node, type Value } from '../../graph/node.ts';
import { isSameSequence } from '../../graph/same-data.ts';
import { dependsOnParameter, topologicalOrder } from '../../graph/topology.ts';
import { namesOf, placesOf } from '../../ops/own/attention.ts';
import { usesOwnOperators } from '../../ops/own/enabled.ts';
import { transpose } from '../../ops/shape.ts';
import { sizeOf } from '../../value-type.ts';
import { Readers } from '../readers.ts';
import { rewrite } from '../rewrite.ts';

/**
 * Lets attention read queries, keys and values where a layer has written them, and write its result as the next layer reads
 * it: without the copies of Split, Slice and Transpose that divide an array [N, L, width] into heads [N, heads, L, size] and
 * join them. The gradients are written to the same places.
 */
export function placeAttention(outputs: readonly Value[]): Value[] {
  const order = topologicalOrder(outputs);
  if (!usesOwnOperators() || !order.some(({ op }) => op === 'Attention')) return [...outputs];
  const readers = new Readers(order, outputs);
  return rewrite(outputs, [
    (node, original) =>
      isNode(node, 'Attention') ? placed(node, readers.only(original.outputs[0])) : undefined,
    withoutTransposes,
  ]);
}

/** @param reader the only reader of the result */
function placed(node: Node<'Attention'>, reader: Node | undefined): readonly Value[] | undefined {
  const { inputs, outputs, attributes } = node;
  const { mask } = namesOf(inputs, attributes);
  // The gradient of a mask is computed from whole operands.
  if (attributes.places || (mask?.dtype === 'float32' && dependsOnParameter(mask))) return undefined;
  const found = viewsOf(inputs.slice(0, 3));
  const perm = reader && isNode(reader, 'Transpose') ? reader.attributes.perm : undefined;
  const [result] = outputs;
  const axes = perm?.at(-1) === result.shape.length - 1 ? perm : [...result.shape.keys()];
  const shape = axes.map((axis) => result.shape[axis]);
  const inverse = axes.map((_, axis) => axes.indexOf(axis));
  const strides = inverse.map((axis) => sizeOf(shape.slice(axis + 1)));
  const places: AttentionPlaces = {
    ...placesOf(node),
    operands: found.views.map(({ first, strides }): HeadLayout => ({ first, strides: strides.slice(0, -1) })),
    result: { first: 0, strides: strides.slice(0, -1) },
    targets: found.targets,
  };
  const made = createNode(
    'Attention',
    [...found.views.map(({ array }) => array), ...inputs.slice(3)],
    { ...attributes, places },
    [{ dtype: result.dtype, shape }, outputs[1]],
  );
  const [attended, statistics] = made.outputs;
  return [perm && axes === perm ? transpose(attended, inverse) : attended, statistics];
}

/** Two transpositions that cancel out. */
function withoutTransposes(node: Node): Value | undefined {
  if (!isNode(node, 'Transpose')) return undefined;
  const inner = node.inputs[0].node;
  if (!isNode(inner, 'Transpose')) return undefined;
  const isUnchanged = node.attributes.perm.every((axis, place) => inner.attributes.perm[axis] === place);
  return isUnchanged ? inner.inputs[0] : undefined;
}

/** A value as elements of an array: element (i, j, …) is at first + i·strides[0] + j·strides[1] + … */
interface View {
  readonly array: Value;
  readonly first: number;
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  /** The part of another value that this is, if it is not all of the array. */
  readonly part?: Part;
}

interface Part {
  readonly whole: Value;
  readonly axis: number;
  readonly start: number;
  readonly end: number;
}

/**
 * Where the operands are. Parts of an array are read in place if together they are all of it, and no element is in two:
 * otherwise their gradients could not be one array that nothing else is added to.
 */
function viewsOf(operands: readonly Value[]): { views: readonly View[]; targets: readonly number[] } {
  const all = operands.map((operand) => readable(viewOf(operand, true), operand));
  const groups = new Map<Value, Part[]>();
  for (const { part } of all) {
    if (part) groups.set(part.whole, [...(groups.get(part.whole) ?? []), part]);
  }
  const views = all.map((view, place) => {
    const isComplete = view.part === undefined || divide(view.part.whole, groups.get(view.part.whole)!);
    return isComplete ? view : readable(viewOf(operands[place], false), operands[place]);
  });
  const places = new Map<unknown, number>();
  const targets = views.map(({ part }, place) => {
    const key = part?.whole ?? place;
    if (!places.has(key)) places.set(key, places.size);
    return places.get(key)!;
  });
  return { views, targets };
}

/** The operator reads rows of adjacent elements. */
function readable(view: View, value: Value): View {
  return view.strides.at(-1) === 1 || view.shape.at(-1) === 1 ? view : whole(value);
}

/** True if the parts are all elements of a value, each once. */
function divide({ shape }: Value, parts: readonly Part[]): boolean {
  const { axis } = parts[0];
  if (parts.some((part) => part.axis !== axis)) return false;
  let end = 0;
  for (const part of [...parts].sort((a, b) => a.start - b.start)) {
    if (part.start !== end) return false;
    end = part.end;
  }
  return end === shape[axis];
}

function whole(array: Value): View {
  const { shape } = array;
  return { array, first: 0, shape, strides: shape.map((_, axis) => sizeOf(shape.slice(axis + 1))) };
}

/** Follows a value to the array that has its elements. @param takesPart if true, through one Split or Slice */
function viewOf(value: Value, takesPart: boolean): View {
  const { node } = value;
  const follow = (part = false) => viewOf(node.inputs[0], takesPart && !part);
  if (isNode(node, 'Transpose')) {
    const { strides, ...view } = follow();
    return { ...view, shape: value.shape, strides: node.attributes.perm.map((axis) => strides[axis]) };
  }
  if (isNode(node, 'Reshape')) {
    const view = follow();
    const strides = reshaped(view, value.shape);
    return strides ? { ...view, shape: value.shape, strides } : whole(value);
  }
  const part = takesPart ? partOf(value) : undefined;
  if (part === undefined) return whole(value);
  const view = follow(true);
  const first = view.first + part.start * view.strides[part.axis];
  return { ...view, first, shape: value.shape, part };
}

function partOf({ node, index }: Value): Part | undefined {
  const [whole] = node.inputs;
  if (isNode(node, 'Split')) {
    const { axis, parts, sizes } = node.attributes;
    if (sizes) return undefined;
    const size = whole.shape[axis] / parts;
    return { whole, axis, start: index * size, end: (index + 1) * size };
  }
  if (!isNode(node, 'Slice') || node.attributes.given) return undefined;
  const { axis, start, end } = node.attributes;
  return { whole, axis, start, end };
}

/** The strides of elements in another shape, or undefined if no strides describe it: as torch's view. */
function reshaped({ shape, strides }: View, to: readonly number[]): number[] | undefined {
  const result: number[] = [];
  const dimensions = shape
    .map((size, axis) => ({ size, stride: strides[axis] }))
    .filter(({ size }) => size !== 1);
  let next = 0;
  let merged = { size: 1, stride: 1 };
  for (const size of to.toReversed()) {
    // From the last dimension on: the elements that the next dimensions of `shape` have at equal distances.
    if (size === 1) {
      result.unshift(merged.stride * merged.size);
      continue;
    }
    if (merged.size === 1) {
      const dimension = dimensions.at(-1 - next);
      if (dimension === undefined) return undefined;
      next += 1;
      merged = dimension;
      for (
        let more = dimensions.at(-1 - next);
        more?.stride === merged.size * merged.stride;
        more = dimensions.at(-1 - next)
      ) {
        merged = { size: merged.size * more.size, stride: merged.stride };
        next += 1;
      }
    }
    if (merged.size % size !== 0) return undefined;
    result.unshift(merged.stride);
    merged = { size: merged.size / size, stride: merged.stride * size };
  }
  return isSameSequence([next, merged.size], [dimensions.length, 1]) ? result : undefined;
}
