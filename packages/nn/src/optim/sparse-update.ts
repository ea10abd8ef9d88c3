import { ArgumentError } from '../errors/errors.ts';
import type { Parameter } from '../tensor/parameter.ts';
import type { Rule, RowUpdateInputs, UpdateOutputs } from './rule.ts';

/** The part of a rule that an update uses. */
export type UpdateRule = Pick<Rule<object>, 'name' | 'update' | 'updateRows'>;

/**
 * The update for a sparse gradient.
 *
 * @throws ArgumentError if the optimizer refuses it
 */
export function sparseUpdate(rule: UpdateRule, parameter: Parameter, inputs: RowUpdateInputs): UpdateOutputs {
  if (rule.updateRows) return rule.updateRows(inputs);
  throw new ArgumentError(
    `${rule.name}: expected dense gradients, got a sparse one of ${parameter.describe()}. Use optim.SparseAdam, optim.SGD or optim.Adagrad, or leave sparse: true out of its embedding.`,
  );
}

/** The error of a weight decay with a sparse gradient: it would change all rows. */
export function noWeightDecay(name: string): ArgumentError {
  return new ArgumentError(
    `${name}: expected weightDecay 0 with a sparse gradient, got another. Put the embedding into its own group with weightDecay: 0, or leave sparse: true out.`,
  );
}
