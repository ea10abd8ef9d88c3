import { NnError } from '../errors/errors.ts';
import { isNode, type Node, type Value } from './node.ts';
import { describeType } from '../value-type.ts';
import { tick } from './logical-clock.ts';

/** A change of a parameter or buffer, such as an optimizer step, ordered by call. */
export interface Change {
  /** Public method: `optimizer.step()`. */
  readonly by: string;
  /** Time of the call. Nodes created earlier refer to the elements before the change. */
  readonly at: number;
}

/** Creates a change at the current time. It may be carried out later. */
export function changeBy(by: string): Change {
  return { by, at: tick() };
}

/** Records that the elements of a leaf were changed. */
export function recordChange(leaf: Value, change: Change): void {
  // Changes may be carried out later than they are requested.
  if (!(change.at < (leaf.lastChange?.at ?? 0))) leaf.lastChange = change;
}

/** True if the elements of a leaf were changed after a node was created from it. */
export function isChangedSince(leaf: Value, node: Node): boolean {
  return node.createdAt < (leaf.lastChange?.at ?? -Infinity);
}

/** A leaf whose elements were changed before they were read. */
export interface Outdated {
  /** The parameter or buffer. */
  readonly leaf: Value;
  readonly change: Change;
}

/** Finds a leaf that was changed after nodes were created from it, so that results would differ from an eager framework. */
export function findOutdated(nodes: readonly Node[]): Outdated | undefined {
  for (const node of nodes) {
    for (const leaf of node.inputs) {
      const change = leaf.lastChange;
      if (change !== undefined && node.createdAt < change.at) return { leaf, change };
    }
  }
  return undefined;
}

/** @param advice what to do, a sentence */
export function outdatedError(what: string, { leaf, change }: Outdated, advice: string): NnError {
  return new NnError(
    'ERR_OUTDATED',
    `${what} was computed from ${describeLeaf(leaf)} before ${change.by} changed it. ${advice}`,
  );
}

function describeLeaf(leaf: Value): string {
  const { parameter, frozen } = isNode(leaf.node, 'Input') ? leaf.node.attributes.source : {};
  return (parameter ?? frozen)?.describe() ?? `a buffer (${describeType(leaf)})`;
}
