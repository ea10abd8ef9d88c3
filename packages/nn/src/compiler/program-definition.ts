import type { ProgramDefinition } from '../executor/executor.ts';
import type { Value } from '../graph/node.ts';
import type { Leaf } from '../graph/structure.ts';
import { usesOwnOperators } from '../ops/own/enabled.ts';
import { rewrite } from './rewrite.ts';
import { plainOperators } from './rewrites/plain-operators.ts';
import { removeCustomGradients, removeSlopes } from './rewrites/remove-identity.ts';
import { withoutElements } from './rewrites/without-elements.ts';

/** The purpose of a program (default: `evaluation`), its parts, its update, and figures for the profiler (default: none). */
export type CompileOptions = Partial<Pick<ProgramDefinition, 'purpose' | 'parts' | 'update' | 'details'>>;

/** A program that takes the leaves' arrays in order and computes the outputs. `name` appears in the profiler. */
export function definitionOf(
  name: string,
  leaves: readonly Leaf[],
  outputs: readonly Value[],
  { purpose = 'evaluation', parts = [], update, details }: CompileOptions = {},
): ProgramDefinition {
  return {
    name,
    details,
    purpose,
    leaves,
    outputs: simplified(outputs),
    parts,
    update: update && { ...update, outputs: simplified(update.outputs) },
  };
}

/** Rewrites that hold for every executor. */
function simplified(outputs: readonly Value[]): readonly Value[] {
  const values = usesOwnOperators() ? outputs : rewrite(outputs, [plainOperators]);
  return rewrite(values, [withoutElements(values), removeSlopes, removeCustomGradients]);
}
