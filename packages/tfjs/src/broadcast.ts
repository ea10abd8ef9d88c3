import type { ProcessGroup } from '@ringrun/core';
import { TfjsError } from './errors.ts';
import { requireGroup } from './ringrun.ts';
import {
  assign,
  isVariable,
  tensorOf,
  valuesOf,
  variablesIn,
  type AnyModel,
  type TfTensor,
  type TfValues,
  type TfVariable,
} from './tensorflow.ts';
import { requireOptions, type OptionNames } from './require-options.ts';

/** Options of {@link broadcastVariables} and {@link broadcastOptimizer}. */
export interface BroadcastOptions {
  /** The rank whose values are broadcast. Default: 0. */
  src?: number;
  /** Default: the default group. */
  processGroup?: ProcessGroup;
}

const optionNames: OptionNames<BroadcastOptions> = { src: true, processGroup: true };

/**
 * Broadcasts the variables of rank `src` (Horovod: broadcast_variables): all variables of a model, or a list. A synchronous
 * collective. A distributed optimizer calls it in its first step. Call it yourself if gradients are computed otherwise,
 * or if one rank loads weights later.
 *
 * @throws TfjsError `ERR_NOT_INITIALIZED` without a process group; `ERR_VARIABLES_MISMATCH` on every rank if names, shapes
 *   or dtypes differ, in which case no variable is changed
 */
export function broadcastVariables(
  variables: AnyModel | readonly unknown[],
  options: BroadcastOptions = {},
): void {
  requireOptions('broadcastVariables', options, optionNames);
  const { src = 0, processGroup } = options;
  const group = requireGroup('broadcastVariables', processGroup);
  const all = isModel(variables) ? variablesIn(variables) : variables.map(requireVariable);
  requireSameVariables(group, all);
  for (const variable of all) {
    const values = valuesOf(variable).slice();
    group.broadcastSync(values, { src });
    if (group.rank !== src) assign(variable, values);
  }
}

/** tf.NamedTensor */
export interface NamedWeight {
  /** Name of the weight. */
  name: string;
  /** Its values, a tf.Tensor. */
  tensor: unknown;
}

/** A tf.Optimizer whose state can be saved. */
export interface AnyStatefulOptimizer {
  /** Returns the step count and the moments. */
  getWeights(): Promise<NamedWeight[]>;
  /** Restores the result of `getWeights`. */
  setWeights(weights: never): Promise<void>;
}

/** A NamedTensor as it is sent. */
interface SentWeight {
  name: string;
  shape: number[];
  dtype: string;
  values: TfValues;
}

/**
 * Broadcasts the state of the optimizer on rank `src`: its moments and step count, but not settings such as the learning
 * rate (Horovod: broadcast_optimizer_state). A collective; needed if only one rank has loaded a state.
 *
 * @throws TfjsError `ERR_NOT_INITIALIZED` without a process group; tf's error if the weights cannot be read or set
 */
export async function broadcastOptimizer(
  optimizer: AnyStatefulOptimizer,
  options: BroadcastOptions = {},
): Promise<void> {
  requireOptions('broadcastOptimizer', options, optionNames);
  const { src = 0, processGroup } = options;
  const group = requireGroup('broadcastOptimizer', processGroup);
  const own = group.rank === src ? await packed(optimizer) : [];
  const sent = await group.broadcastObject<SentWeight[]>(own, { src });
  if (group.rank === src) return;
  const weights = sent.map((weight) => ({ name: weight.name, tensor: tensorOf(weight.values, weight) }));
  await optimizer.setWeights(weights as never);
  // Variables created from these tensors hold their own references to the values.
  for (const { tensor } of weights) tensor.dispose();
}

async function packed(optimizer: AnyStatefulOptimizer): Promise<SentWeight[]> {
  const weights = (await optimizer.getWeights()) as { name: string; tensor: TfTensor }[];
  const sent = weights.map(({ name, tensor }) => ({
    name,
    shape: tensor.shape,
    dtype: tensor.dtype,
    values: valuesOf(tensor).slice(),
  }));
  // getWeights creates a tensor for the step count; the other tensors belong to the optimizer.
  for (const { tensor } of weights) if (!isVariable(tensor)) tensor.dispose();
  return sent;
}

function isModel(variables: AnyModel | readonly unknown[]): variables is AnyModel {
  return !Array.isArray(variables);
}

function requireVariable(thing: unknown): TfVariable {
  if (isVariable(thing)) return thing;
  throw new TfjsError(
    'ERR_ARGUMENT',
    `broadcastVariables: expected a model or a list of tf.Variable, got a list that contains ${typeof thing}.`,
  );
}

function requireSameVariables(group: ProcessGroup, variables: readonly TfVariable[]): void {
  const outlines = group.allGatherObjectSync(
    variables.map(({ name, shape, dtype }) => `${name} ${dtype} [${shape.join(', ')}]`),
  );
  const longest = Math.max(...outlines.map(({ length }) => length));
  for (let i = 0; i < longest; i += 1) {
    const sides = outlines.map((outline) => outline.at(i) ?? `none (${outline.length} in all)`);
    const other = sides.findIndex((side) => side !== sides[0]);
    if (other === -1) continue;
    throw new TfjsError(
      'ERR_VARIABLES_MISMATCH',
      `broadcastVariables: variable ${i} differs: rank 0 has ${sides[0]}; rank ${other} has ${sides[other]}. Build the same model on every rank. No variable has changed.`,
    );
  }
}
