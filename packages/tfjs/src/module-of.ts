import type { DistributedModule } from 'ringrun';
import { variablesIn, type AnyModel } from './tensorflow.ts';
import { VariablesModule } from './variables.ts';

/** The variables of a model as ringrun's functions take them: `await verifyIdenticalParameters(moduleOf(model))`. To be read, not to be changed. */
export function moduleOf(model: AnyModel): DistributedModule {
  const all = variablesIn(model);
  const isTrained = ({ trainable, dtype }: (typeof all)[number]) => trainable && dtype === 'float32';
  return new VariablesModule(
    all.filter(isTrained),
    all.filter((variable) => !isTrained(variable)),
  );
}
