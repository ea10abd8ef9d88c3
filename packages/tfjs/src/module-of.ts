import type { DistributedModule } from 'ringrun';
import { variablesIn, type AnyModel } from './tensorflow.ts';
import { VariablesModule } from './variables.ts';

/** A read-only view of a model's variables for ringrun's functions: `await verifyIdenticalParameters(moduleOf(model))`. */
export function moduleOf(model: AnyModel): DistributedModule {
  const all = variablesIn(model);
  const isTrained = ({ trainable, dtype }: (typeof all)[number]) => trainable && dtype === 'float32';
  return new VariablesModule(
    all.filter(isTrained),
    all.filter((variable) => !isTrained(variable)),
  );
}
