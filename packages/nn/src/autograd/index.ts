/**
 * Gradients of tensors (torch.autograd): of any output with respect to any input, of second and higher order, and functions
 * with their own gradients.
 *
 * @module
 */
export { CustomFunction as Function } from './function.ts';
export type { FunctionClass, FunctionContext, FunctionGradients } from './function.ts';
export * as functional from './functional.ts';
export type { FunctionalOptions, TensorFunction } from './functional.ts';
export { grad, type GradOptions, type Tensors } from './grad.ts';
export { gradcheck, gradgradcheck, type CheckedFunction, type GradCheckOptions } from './gradcheck.ts';
