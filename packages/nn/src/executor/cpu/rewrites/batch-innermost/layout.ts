import { isNode, type Value } from '../../../../graph/node.ts';
import { swapOuterAxes } from '../../../../ops/swap-outer-axes.ts';

/**
 * Images as [W, C, H, N], with the batch innermost.
 *
 * Shifting or splitting an image along its width or height moves runs of N or H·N numbers, instead of single numbers or
 * short rows in NCHW. A linear map along the width is a matrix product from the left.
 */
export function toBatchInnermost(nchw: Value): Value {
  // Swapping N and W is its own inverse, so an image that was just transposed to NCHW costs nothing.
  const { node, shape } = nchw;
  if (isBatchInnermost(nchw)) return node.inputs[0];
  return shape[0] === 1 && shape[3] === 1 ? nchw : swapOuterAxes(nchw);
}

export function toNchw(batchInnermost: Value): Value {
  return swapOuterAxes(batchInnermost);
}

/** The shape in the other layout. */
export function swapped(shape: readonly number[]): number[] {
  return permutation.map((axis) => shape[axis]);
}

/** The index of an axis in the other layout. */
export function swappedAxis(axis: number): number {
  return permutation[axis];
}

/** True if an NCHW image is the transpose of one that has its batch innermost. */
export function isBatchInnermost({ node }: Value): boolean {
  return isNode(node, 'SwapOuterAxes');
}

const permutation = [3, 1, 2, 0];
