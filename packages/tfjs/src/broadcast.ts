import type { ProcessGroup } from 'ringrun';
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

export interface BroadcastOptions {
  /** The rank whose values all get; 0 unless given. */
  src?: number;
  /** The default group unless given. */
  processGroup?: ProcessGroup;
}

const optionNames: OptionNames<BroadcastOptions> = { src: true, processGroup: true };

/**
 * Gives every rank the variables of rank `src` (Horovod: broadcast_variables): of a model, trained or not, or those of a list. A collective, over when it returns. A distributed
 * optimizer does it by itself in the first step; call it where gradients are computed otherwise, or weights were loaded on one rank later.
 *
 * @throws TfjsError `ERR_NOT_INITIALIZED` outside of a group; `ERR_VARIABLES_MISMATCH` on every rank, with both sides, where names, shapes or dtypes differ; no variable has
 * changed then
 */
export function broadcastVariables(
  variables: AnyModel | readonly unknown[],
  options: BroadcastOptions = {},
): void {
  requireOptions('broadcastVariables', options, optionNames);
  const { src = 0, processGroup } = options;
  const group = requireGroup('broadcastVariables', processGroup);
  const all = isModel(variables) ? variablesIn(variables) : variables.map(requireVariable);
  requireSameOutline(group, all);
  for (const variable of all) {
    const values = valuesOf(variable).slice();
    group.broadcastSync(values, { src });
    if (group.rank !== src) assign(variable, values);
  }
}

/** tf.Optimizer, where it can be saved. */
export interface AnyStatefulOptimizer {
  getWeights(): Promise<{ name: string; tensor: unknown }[]>;
  setWeights(weights: never): Promise<void>;
}

/** A NamedTensor that travels. */
interface Sent {
  name: string;
  shape: number[];
  dtype: string;
  values: TfValues;
}

/**
 * Gives every rank the state of an optimizer on rank `src` (Horovod: broadcast_optimizer_state): its moments, and how many steps it has made. A collective; needed where a state was
 * loaded on one rank alone. Learning rates and the like are no part of it.
 *
 * @throws TfjsError `ERR_NOT_INITIALIZED` outside of a group; tf's error for an optimizer whose weights cannot be read or set
 */
export async function broadcastOptimizer(
  optimizer: AnyStatefulOptimizer,
  options: BroadcastOptions = {},
): Promise<void> {
  requireOptions('broadcastOptimizer', options, optionNames);
  const { src = 0, processGroup } = options;
  const group = requireGroup('broadcastOptimizer', processGroup);
  const own = group.rank === src ? await packed(optimizer) : [];
  const sent = await group.broadcastObject<Sent[]>(own, { src });
  if (group.rank === src) return;
  const weights = sent.map((weight) => ({ name: weight.name, tensor: tensorOf(weight.values, weight) }));
  await optimizer.setWeights(weights as never);
  // Variables made of them hold the values by references of their own.
  for (const { tensor } of weights) tensor.dispose();
}

async function packed(optimizer: AnyStatefulOptimizer): Promise<Sent[]> {
  const weights = (await optimizer.getWeights()) as { name: string; tensor: TfTensor }[];
  const sent = weights.map(({ name, tensor }) => ({
    name,
    shape: tensor.shape,
    dtype: tensor.dtype,
    values: valuesOf(tensor).slice(),
  }));
  // getWeights makes a tensor of the number of steps; the others are the optimizer's own.
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
    `broadcastVariables: expected a model or a list of tf.Variable, got a list with ${typeof thing} in it.`,
  );
}

function requireSameOutline(group: ProcessGroup, variables: readonly TfVariable[]): void {
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
