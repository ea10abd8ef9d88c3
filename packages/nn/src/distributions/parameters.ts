import type { Scalar } from '../dtype.ts';
import { isFloat } from '../dtype.ts';
import { broadcastShape } from '../ops/broadcast.ts';
import { tensorOf } from '../tensor/creation.ts';
import { Tensor } from '../tensor/tensor.ts';
import { requireConstraint, type Constraint } from './constraint.ts';
import { validatesByDefault } from './validation.ts';

/** A parameter of a distribution: a tensor, or a number, which counts as a tensor without dimensions. */
export type DistributionParameter = Tensor | Scalar | boolean;

/** Options of distributions. */
export interface DistributionOptions {
  /**
   * If true, checks parameters and values whose elements are known at the call. Default: see
   * {@link setDefaultValidateArgs}, initially true.
   */
  validateArgs?: boolean;
}

/** A parameter with its constraint. */
type Constrained = readonly [given: DistributionParameter, constraint: Constraint];

/** The parameters as float tensors of one shape, to which they broadcast. */
export function broadcastParameters<Names extends string>(
  distribution: string,
  parameters: Readonly<Record<Names, Constrained>>,
  { validateArgs = validatesByDefault() }: DistributionOptions,
): Record<Names, Tensor> {
  const entries = Object.entries(parameters) as [Names, Constrained][];
  const tensors = entries.map(([name, [given, constraint]]) => {
    if (validateArgs) requireConstraint(`${distribution}: ${name}`, asKnown(given), constraint);
    return asFloatTensor(given);
  });
  let { shape } = tensors[0];
  for (const one of tensors.slice(1))
    shape = broadcastShape(distribution, tensors[0].expand(shape).value, one.value);
  return Object.fromEntries(entries.map(([name], i) => [name, tensors[i].expand(shape)])) as Record<
    Names,
    Tensor
  >;
}

/** A number as a tensor without dimensions; a tensor of integers or booleans as floats. */
export function asFloatTensor(given: DistributionParameter): Tensor {
  if (!(given instanceof Tensor)) return tensorOf('float32', [], Float32Array.of(Number(given)));
  return isFloat(given) ? given : given.float();
}

/** The number or tensor whose elements are checked. */
export function asKnown(given: DistributionParameter): Tensor | number {
  return given instanceof Tensor ? given : Number(given);
}
