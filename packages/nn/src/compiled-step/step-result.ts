import { describeValue } from '../checks/describe-value.ts';
import { ArgumentError } from '../errors/errors.ts';
import { Tensor } from '../tensor/tensor.ts';

/** Tensors that a step computes besides the loss: one, a list, or an object, such as `{ accuracy, logits }`. */
export type Auxiliary = Tensor | readonly Auxiliary[] | { readonly [name: string]: Auxiliary };

/** What the function of `compileStep` returns, and each step resolves with: the loss, or a list of the loss and other tensors. */
export type StepResult = Tensor | readonly [loss: Tensor, auxiliary: Auxiliary];

/** A result of the function of `compileStep`, taken apart. */
export interface OpenedResult<Result extends StepResult> {
  /** The loss, then the auxiliary tensors. */
  readonly tensors: readonly [loss: Tensor, ...auxiliary: Tensor[]];
  /** A result of the same form with other tensors. */
  readonly close: (tensors: readonly Tensor[]) => Result;
}

/** @throws ArgumentError if it is neither a tensor nor a list of a tensor and auxiliary tensors */
export function openResult<Result extends StepResult>(result: Result): OpenedResult<Result> {
  const [loss, auxiliary, ...rest]: readonly unknown[] = Array.isArray(result) ? result : [result];
  if (!(loss instanceof Tensor) || (Array.isArray(result) && auxiliary === undefined) || rest.length > 0) {
    throw new ArgumentError(
      `compileStep: expected a function that returns a tensor, got ${describeValue(result)}. Return the loss, or [loss, { other: tensors }]; the function is not async.`,
    );
  }
  const tensors: [Tensor, ...Tensor[]] = [loss];
  if (auxiliary === undefined) return { tensors, close: ([first]) => first as Result };
  const close = open(auxiliary, 'the second element', tensors);
  return { tensors, close: (others) => [others[0], close(others)] as unknown as Result };
}

/** Adds the tensors of a value to a list. Returns a function that puts others in their places. */
function open(given: unknown, name: string, tensors: Tensor[]): (tensors: readonly Tensor[]) => unknown {
  if (given instanceof Tensor) {
    const position = tensors.push(given) - 1;
    return (others) => others[position];
  }
  if (Array.isArray(given)) {
    const parts = given.map((one: unknown, index) => open(one, `${name}[${index}]`, tensors));
    return (others) => parts.map((part) => part(others));
  }
  if (!isPlainObject(given)) {
    throw new ArgumentError(
      `compileStep: expected tensors besides the loss, got ${describeValue(given)} as ${name}. Compute it from the result: const [loss, { logits }] = await step(…).`,
    );
  }
  const parts = Object.entries(given).map(
    ([key, one]) => [key, open(one, `${name}.${key}`, tensors)] as const,
  );
  return (others) => Object.fromEntries(parts.map(([key, part]) => [key, part(others)]));
}

function isPlainObject(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
