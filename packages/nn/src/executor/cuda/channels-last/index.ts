import { rewrite } from '../../../compiler/rewrite.ts';
import { isNode, type Node, type Value } from '../../../graph/node.ts';
import { isSameSequence } from '../../../graph/same-data.ts';
import { topologicalOrder } from '../../../graph/topology.ts';
import { sizeOf } from '../../../value-type.ts';
import { firstAxes, lastAxes, Layouts } from './layouts.ts';
import { withBatchSums } from './batch-sums.ts';
import { convolutionWithChannelsLast, offerChannelsLast, withChannelsLast } from './rules.ts';

/**
 * The same graph with the images of its convolutions, and of the operators between them, as [N, H, W, C] in memory: the order in
 * which cuDNN's kernels for tensor cores read them. It transposes images of another order before each convolution and after it.
 *
 * Weights and their gradients keep torch's order outside of the graph, and are transposed in it. The graph stays as it is if no
 * convolution fills tensor cores, or if this would transpose as many elements as cuDNN does.
 */
export function inChannelsLast(outputs: readonly Value[]): readonly Value[] {
  const order = topologicalOrder(outputs);
  const convolutions = order.filter(isConvolution).filter(mayBeLast);
  if (!convolutions.some((node) => fillsTensorCores(weightShapeOf(node)))) return outputs;
  const layouts = new Layouts();
  const changed = rewrite(outputs, [
    (node) => {
      if (!isConvolution(node)) return withChannelsLast(node, layouts);
      if (mayBeLast(node)) return convolutionWithChannelsLast(node, layouts);
      offerChannelsLast(node, layouts);
      return undefined;
    },
  ]);
  const byLibrary = convolutions.flatMap(imagesOf).reduce((sum, { shape }) => sum + sizeOf(shape), 0);
  const added = transposedElements(topologicalOrder(changed)) - transposedElements(order);
  return added < byLibrary ? withBatchSums(changed) : outputs;
}

type Convolution = Node<'Conv' | 'ConvTranspose' | 'ConvWeightGradient'>;

function isConvolution(node: Node): node is Convolution & Node {
  return isNode(node, 'Conv') || isNode(node, 'ConvTranspose') || isNode(node, 'ConvWeightGradient');
}

/** [M, C, kH, kW] */
function weightShapeOf(node: Convolution): readonly number[] {
  return isNode(node, 'ConvWeightGradient') ? node.outputs[0].shape : node.inputs[1].shape;
}

function imagesOf(node: Convolution): readonly Value[] {
  return isNode(node, 'ConvWeightGradient') ? node.inputs : [node.inputs[0], node.outputs[0]];
}

/**
 * A convolution of two axes and one group with many channels on one side, such as the first one of a network: on an H100, that of
 * [128, 3, 32, 32] with 64 filters takes 70 µs instead of 65 µs, but a transpose of its result would take longer.
 */
function mayBeLast(node: Convolution): boolean {
  const shape = weightShapeOf(node);
  const isFilled = [node.inputs, node.outputs].flat().every((value) => sizeOf(value.shape) > 0);
  return (
    shape.length === 4 &&
    node.attributes.group === 1 &&
    isFilled &&
    Math.max(shape[0], shape[1]) >= manyChannels
  );
}

function fillsTensorCores([filters, channels]: readonly number[]): boolean {
  return Math.min(filters, channels) >= manyChannels;
}

/** Below it, kernels take a few µs in either layout. */
const manyChannels = 32;

/** Elements of images that are transposed to or from channels last. Weights, which cuDNN transposes as well, do not count. */
function transposedElements(order: readonly Node[]): number {
  const weights = new Set<Value>();
  for (const { op, inputs } of order) if (op === 'Conv' || op === 'ConvTranspose') weights.add(inputs[1]);
  const transposed = order.flatMap((node) => {
    if (!isNode(node, 'Transpose')) return [];
    const [[x], [y]] = [node.inputs, node.outputs];
    return isOfChannels(node) && !weights.has(y) && !isWeightGradient(x) ? [sizeOf(y.shape)] : [];
  });
  return transposed.reduce((sum, elements) => sum + elements, 0);
}

function isOfChannels({ attributes: { perm } }: Node<'Transpose'>): boolean {
  return isSameSequence(perm, lastAxes) || isSameSequence(perm, firstAxes);
}

function isWeightGradient({ node }: Value): boolean {
  return isNode(node, 'Cast') ? isWeightGradient(node.inputs[0]) : isNode(node, 'ConvWeightGradient');
}
