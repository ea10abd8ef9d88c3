import { ArgumentError } from '../errors/errors.ts';
import { isNode, type Node } from '../graph/node.ts';
import { describeType } from '../value-type.ts';
import { tick } from '../graph/logical-clock.ts';
import { topologicalOrder } from '../graph/topology.ts';
import { checkpointBoundary } from '../ops/dependency.ts';
import { describeValue } from '../checks/describe-value.ts';
import { Tensor } from '../tensor/tensor.ts';

/** True while `fn` of a checkpoint runs. */
let isInside = false;

/**
 * Computes `fn(...inputs)` so that its intermediate values are computed again in the backward pass instead of kept (gradient
 * checkpointing; torch.utils.checkpoint.checkpoint). A step then needs less memory and more time, up to a third for a whole
 * model. Values and gradients are the same up to rounding. Most are bit-identical, except those of a relu and a max-pool that the
 * end of the part separates, which would otherwise be swapped, and the gradient of a tensor that is used both in the part and
 * outside, which is summed in a different order. Random masks, updates of running statistics and collectives are not repeated.
 *
 * ```ts
 * for (const block of this.blocks) x = checkpoint((x) => block.forward(x), x);
 * ```
 *
 * A checkpoint inside another checkpoint has no effect.
 *
 * @param fn called once, synchronously; returns a tensor or a list of tensors. It must not use computed tensors other than
 *   its inputs.
 * @param inputs tensors, and other values that are passed on
 * @throws ArgumentError if `fn` uses a computed tensor that is not an input, or returns anything but tensors
 */
export function checkpoint<Inputs extends readonly unknown[], Output extends Tensor | readonly Tensor[]>(
  fn: (...inputs: Inputs) => Output,
  ...inputs: Inputs
): Output {
  if (typeof fn !== 'function') {
    throw new ArgumentError(
      `checkpoint: expected a function, got ${describeValue(fn)}. Write checkpoint((x) => block.forward(x), x).`,
    );
  }
  if (isInside) return fn(...inputs);
  const start = tick();
  const marked = inputs.map((input) =>
    input instanceof Tensor ? new Tensor(checkpointBoundary(input.value, 'input')) : input,
  ) as unknown as Inputs;
  isInside = true;
  let output: Output;
  try {
    output = fn(...marked);
  } finally {
    isInside = false;
  }
  const tensors: readonly unknown[] = Array.isArray(output) ? output : [output];
  const ended = tensors.map((tensor) => {
    if (!(tensor instanceof Tensor)) {
      throw new ArgumentError(
        `checkpoint: expected a function that returns tensors, got ${describeValue(tensor)}.`,
      );
    }
    requireInputsOnly(tensor, start);
    return new Tensor(checkpointBoundary(tensor.value, 'output'));
  });
  return (Array.isArray(output) ? ended : ended[0]) as unknown as Output;
}

/** @param start time when `fn` was called: nodes created before are not in the part */
function requireInputsOnly({ value }: Tensor, start: number): void {
  const isOfPart = (node: Node) => node.createdAt >= start && !isInput(node);
  const foreign = topologicalOrder([value], isOfPart).find(
    (node) => !isOfPart(node) && !isInput(node) && node.inputs.length > 0,
  );
  if (foreign === undefined) return;
  throw new ArgumentError(
    `checkpoint: expected a function that computes with its inputs and parameters, got one that uses another computed tensor, ${describeType(foreign.outputs[0])}. Pass it as an input: checkpoint((x, y) => …, x, y).`,
  );
}

function isInput(node: Node): boolean {
  return isNode(node, 'Checkpoint') && node.attributes.side === 'input';
}
