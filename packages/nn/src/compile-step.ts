import { step } from './autograd.ts';
import { ArgumentError } from './errors.ts';
import { clippingOf, type ClippingOptions } from './optim/clipping.ts';
import { Optimizer, type CommonSettings } from './optim/optimizer.ts';
import { describeValue } from './stored-tensor.ts';
import { Tensor } from './tensor.ts';

/**
 * Compiles a whole training step: returns a function that computes the loss of its arguments, its gradients, their average
 * over the ranks, and the optimizer's update, in one run. It replaces
 *
 * ```ts
 * const loss = lossOf(...batch);
 * optimizer.zeroGrad();
 * await loss.backward();
 * await optimizer.step(options);
 * ```
 *
 * and computes the same numbers. A parameter is updated as soon as the bucket of its gradient has been averaged. `lossOf`
 * runs at every call, as it does without `compileStep`: a new structure or new shapes compile again, values do not.
 *
 * Gradients do not accumulate, and the parameters' `grad` have those of the last step; they are undefined with
 * DistributedDataParallel's `shareParameters`, because no rank averages all of them. To accumulate or change gradients, call
 * `backward` and `step`. To clip them, pass `clipGradNorm` or `clipGradValue`. With a communication hook,
 * `join`, `faultTolerance` or `errorIfNonfinite`, and if the loss does not depend on all parameters, the step is several
 * runs. If a collective fails, some parameters may have been updated.
 *
 * @param optimizer has the parameters that are updated
 * @param lossOf returns the loss: one float32 number. Called synchronously.
 * @param options how gradients are clipped. Default: they are not.
 * @returns a function that resolves with the loss when the parameters are updated. Calls run in their order, even if they
 * are not awaited. Reading the loss (`await loss.item()`) costs nothing.
 * @throws ArgumentError if an argument is not an optimizer or a function, and from the returned function if `lossOf` does
 *   not return a tensor; ArgumentError for options that cannot be used
 * @throws NnError (ERR_NONFINITE) from the returned function with `errorIfNonfinite`, without changing a parameter
 */
export function compileStep<Arguments extends unknown[], Settings extends CommonSettings>(
  optimizer: Optimizer<Settings>,
  lossOf: (...batch: Arguments) => Tensor,
  options: ClippingOptions = {},
): (...batch: Arguments) => Promise<Tensor> {
  if (!(optimizer instanceof Optimizer)) {
    throw new ArgumentError(
      `compileStep: expected an optimizer, got ${describeValue(optimizer)}. Pass new optim.SGD(…), then the function that returns the loss.`,
    );
  }
  if (typeof lossOf !== 'function') {
    throw new ArgumentError(
      `compileStep: expected a function that returns the loss, got ${describeValue(lossOf)}. Write compileStep(optimizer, (images, labels) => loss).`,
    );
  }
  const clipping = clippingOf('compileStep', options);
  return async (...batch) => {
    const loss: unknown = lossOf(...batch);
    if (!(loss instanceof Tensor)) {
      throw new ArgumentError(
        `compileStep: expected a function that returns a tensor, got ${describeValue(loss)}. Return the loss; it is not async.`,
      );
    }
    await step(loss.value, optimizer, clipping);
    return loss;
  };
}
