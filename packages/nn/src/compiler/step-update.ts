import type { ProgramUpdate, SharedUpdate } from '../executor/executor.ts';
import type { Value } from '../graph/node.ts';
import type { GradientReceiver } from '../graph/source.ts';
import type { Leaf, StructureKey } from '../graph/structure.ts';
import type { BufferAssignment } from './buffer-assignment.ts';

/** The update of parameters as part of a training step. */
export interface StepUpdate {
  /** Equal for equal updates of parameters. */
  readonly key: StructureKey;
  /** The leaves that the update reads besides the gradients, and parameters among them. */
  readonly leaves: readonly Leaf[];
  readonly assignments: readonly BufferAssignment[];
  /** The leaf that reads the gradient of a parameter. All parameters are leaves of the step. */
  readonly gradients: ReadonlyMap<GradientReceiver, Value>;
  /** Undefined if other ranks do not read its outputs. */
  readonly shared: SharedUpdate | undefined;
}

/** A step's leaves as its update uses them. */
export interface PlacedUpdate {
  readonly update: StepUpdate;
  /** Positions of the updated parameters among the leaves of the step. */
  readonly positions: readonly number[];
  /** The leaves of the update that the step does not read, and that are not gradients. */
  readonly ownLeaves: readonly Leaf[];
}

/** The leaves and parameters of the last step. */
const placed = new WeakMap<StepUpdate, PlacedUpdate>();

export function placeUpdate(update: StepUpdate, leaves: readonly Leaf[]): PlacedUpdate {
  const last = placed.get(update);
  if (last && isPlacedAt(last, leaves)) return last;
  const positions = new Map(leaves.map(({ source }, position) => [source.parameter, position]));
  const known = new Set([...leaves.map(({ value }) => value), ...update.gradients.values()]);
  const next = {
    update,
    positions: [...update.gradients.keys()].map((parameter) => positions.get(parameter)!),
    ownLeaves: update.leaves.filter(({ value }) => !known.has(value)),
  };
  placed.set(update, next);
  return next;
}

function isPlacedAt({ update, positions }: PlacedUpdate, leaves: readonly Leaf[]): boolean {
  let index = 0;
  for (const parameter of update.gradients.keys()) {
    if (leaves.at(positions[index])?.source.parameter !== parameter) return false;
    index += 1;
  }
  return true;
}

/**
 * Builds the update for the program of a step.
 *
 * @param trainable the leaves that have a gradient, in the order of the gradients
 * @param firstGradient position of the first gradient among the outputs
 */
export function programUpdateOf(
  { update, ownLeaves }: PlacedUpdate,
  trainable: readonly Leaf[],
  firstGradient: number,
): ProgramUpdate {
  const reads = trainable.flatMap(({ source }, position): [number, Value][] => {
    const gradient = update.gradients.get(source.parameter!);
    return gradient === undefined ? [] : [[firstGradient + position, gradient]];
  });
  const outputs = update.assignments.map(({ value }) => value);
  return { leaves: ownLeaves, outputs, reads: new Map(reads), shared: update.shared };
}
