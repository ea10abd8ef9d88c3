import { describeValue } from '../checks/describe-value.ts';
import { ArgumentError } from '../errors/errors.ts';
import { gradientTargetOf } from '../graph/custom-gradient.ts';
import type { Value } from '../graph/node.ts';
import { isTrainedLeaf } from '../graph/topology.ts';
import { describeType } from '../value-type.ts';

/** `createGraph` of a backward pass: only false, because `grad` is an array. */
export function refuseCreateGraph(given: unknown): void {
  if (given === undefined || given === null || given === false) return;
  throw new ArgumentError(
    `backward: expected createGraph false, got ${describeValue(given)}, because grad is an array without a graph. For gradients that have gradients write autograd.grad(loss, inputs, { createGraph: true }).`,
  );
}

/**
 * The values of the tensors whose gradients a backward pass computes; undefined for all.
 *
 * @param given one tensor or a list
 * @throws ArgumentError unless each has a `grad` that receives its gradient
 */
export function inputsOf(
  given: unknown,
  kind: abstract new (...given: never[]) => { readonly value: Value; readonly requiresGrad: boolean },
): ReadonlySet<Value> | undefined {
  if (given === undefined || given === null) return undefined;
  const list: readonly unknown[] = Array.isArray(given) ? given : [given];
  if (list.length === 0) throw new ArgumentError('backward: expected at least one tensor as inputs, got [].');
  return new Set(
    list.map((one, index) => {
      if (!(one instanceof kind)) {
        throw new ArgumentError(
          `backward: expected a tensor or a list of tensors as inputs, got ${describeValue(one)}.`,
        );
      }
      const { value } = one;
      if (!one.requiresGrad) {
        throw new ArgumentError(
          `backward: input ${index}, ${describeType(value)}, has no gradient. Set requiresGrad = true before the loss is computed from it.`,
        );
      }
      if (!isTrainedLeaf(value) && gradientTargetOf(value) === undefined) {
        throw new ArgumentError(
          `backward: input ${index}, ${describeType(value)}, is computed from other tensors and keeps no gradient. Call x.retainGrad() first.`,
        );
      }
      return value;
    }),
  );
}
