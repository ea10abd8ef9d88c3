import { gradientsFrom, isScalar, onesLike } from '../compiler/differentiate.ts';
import type { TensorData } from '../dtype.ts';
import {
  gradientTargetOf,
  hasCustomGradients,
  hookedGradient,
  usesCustomGradients,
} from '../graph/custom-gradient.ts';
import { buildingGradients } from '../graph/collective.ts';
import type { Value } from '../graph/node.ts';
import {
  differentiableValues,
  isTrainedLeaf,
  nodesBeforeDetach,
  topologicalOrder,
} from '../graph/topology.ts';
import { givenGradients } from '../ops/custom-gradient.ts';
import { expand } from '../ops/shape.ts';
import { constant } from '../ops/source.ts';
import { cast } from '../ops/elementwise.ts';
import { backwardOfMany } from './backward-errors.ts';

/*
 * A program of a training step is found by the structure of its loss, and is differentiated when it is compiled. Hooks and
 * functions with their own gradients run in every backward pass, so the gradients of a loss that has them are built by the call
 * itself and are part of its graph. The compiled program then passes them on to the parameters, as any other loss: with
 * DistributedDataParallel, it averages them while it runs.
 */

/** A loss whose gradients are part of its graph. */
export interface ExplicitLoss {
  /** A loss that has the gradients of the parameters. */
  readonly loss: Value;
  /** The gradients of other tensors, which the same run computes. */
  readonly others: readonly Value[];
  /** Adds the elements of `others` to the gradients of their tensors. */
  readonly deliver: (elements: readonly TensorData[]) => void;
}

/** Which gradients are computed, and from what. */
export interface ExplicitOptions {
  /** Gradient of the loss. Default: 1. */
  readonly gradient?: Value | undefined;
  /** Values whose gradients are delivered. Default: all that receive one. */
  readonly inputs?: ReadonlySet<Value> | undefined;
}

/** Undefined if the gradients are those of the operators and of the parameters alone. */
export function explicitLossOf(
  loss: Value,
  { gradient, inputs }: ExplicitOptions = {},
): ExplicitLoss | undefined {
  if (inputs !== undefined && gradient === undefined && !isScalar(loss)) throw backwardOfMany(loss);
  if (gradient === undefined && inputs === undefined) {
    if (!usesCustomGradients() || !hasCustomGradients(topologicalOrder([loss]))) return undefined;
    if (!isScalar(loss)) throw backwardOfMany(loss);
  }
  const gradients = buildingGradients(() =>
    gradientsFrom([[loss, gradient ?? onesLike(loss)]], {
      isWanted: (value) => inputs?.has(value) ?? isTrainedLeaf(value),
      complete: hookedGradient,
    }),
  );
  const reached = [...differentiableValues([loss])];
  const ofLeaf = (leaf: Value) => gradients.get(leaf) ?? cast(expand(constant(0), leaf.shape), leaf.dtype);
  const parameters = nodesBeforeDetach(loss).flatMap(({ op, outputs: [value] }) =>
    op === 'Input' && isTrainedLeaf(value) && (inputs?.has(value) ?? true) ? [value] : [],
  );
  const targets = reached.flatMap((value) => {
    const target = gradientTargetOf(value);
    const isReceived = (inputs?.has(value) ?? true) && (isTrainedLeaf(value) || gradients.has(value));
    return target && isReceived ? [{ target, gradient: ofLeaf(value) }] : [];
  });
  return {
    loss: givenGradients(
      isScalar(loss) ? loss : constant(0),
      parameters.map((leaf) => [leaf, ofLeaf(leaf)] as const),
    ),
    others: targets.map((one) => one.gradient),
    deliver: (elements) => {
      for (const [index, { target }] of targets.entries()) target.receive(elements[index] as Float32Array);
    },
  };
}
