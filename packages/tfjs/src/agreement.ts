import { createHash } from 'node:crypto';
import type { ProcessGroup } from '@ringrun/core';
import { TfjsError } from './errors.ts';
import { valuesOf, variablesOfOptimizer, type Optimizer, type TfVariable } from './tensorflow.ts';

/** SHA-256 of the bytes of all variables in order, in hex. */
export function digestOf(variables: readonly TfVariable[]): string {
  const hash = createHash('sha256');
  for (const variable of variables) hash.update(valuesOf(variable));
  return hash.digest('hex');
}

/**
 * Checks that all ranks have equal optimizers: different ones would diverge even with equal gradients. A collective.
 *
 * @throws TfjsError `ERR_OPTIMIZER_MISMATCH` on every rank, with both sides
 */
export function requireSameOptimizer(group: ProcessGroup, optimizer: Optimizer, accumulation: number): void {
  const sides = group.allGatherObjectSync(describe(optimizer, accumulation));
  const other = sides.findIndex((side) => side !== sides[0]);
  if (other === -1) return;
  throw new TfjsError(
    'ERR_OPTIMIZER_MISMATCH',
    `distribute: expected the same optimizer on all ranks: rank 0 has ${sides[0]}; rank ${other} has ${sides[other]}. If only one rank has loaded a state, ` +
      '`await broadcastOptimizer(optimizer)` on all ranks before the first step. No variable has changed.',
  );
}

function describe(optimizer: Optimizer, accumulation: number): string {
  const state = variablesOfOptimizer(optimizer);
  const name = optimizer.getClassName?.() ?? optimizer.constructor.name;
  const config = JSON.stringify(optimizer.getConfig?.() ?? {});
  return `${name} ${config} with a state of ${state.length} variables (${digestOf(state).slice(0, 8)}), applied every ${accumulation} step(s)`;
}

/**
 * Checks that all ranks have equal variables, if gradients were computed before the first broadcast. A collective.
 *
 * @throws TfjsError `ERR_VARIABLES_DIFFER` on every rank
 */
export function requireEqualVariables(group: ProcessGroup, variables: readonly TfVariable[]): void {
  const digests = group.allGatherObjectSync(digestOf(variables));
  const other = digests.findIndex((digest) => digest !== digests[0]);
  if (other === -1) return;
  throw new TfjsError(
    'ERR_VARIABLES_DIFFER',
    `applyGradients: the first gradients were computed with variables that differ between ranks 0 and ${other}. Call broadcastVariables(model) on every rank before the first ` +
      'step, or use optimizer.minimize or optimizer.computeGradients, which broadcast the variables. No variable has changed.',
  );
}
