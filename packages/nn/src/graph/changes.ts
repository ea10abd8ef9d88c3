import { NnError } from '../errors.ts';
import { describeType, isNode, type Node, type Value } from './node.ts';
import { tick } from './time.ts';

/** A change of a parameter or a buffer in the order of the calls, such as an optimizer's step. */
export interface Change {
  /** What users call: `optimizer.step()`. */
  readonly by: string;
  /** Nodes that were made before it mean the elements from before it. */
  readonly at: number;
}

const lastChange = new WeakMap<Value, Change>();

/** A change that is called for now, and may be carried out later. */
export function changeBy(by: string): Change {
  return { by, at: tick() };
}

/** Records that the elements of a leaf were changed. */
export function recordChange(leaf: Value, change: Change): void {
  // Changes are carried out later than they are called for.
  if (!(change.at < (lastChange.get(leaf)?.at ?? 0))) lastChange.set(leaf, change);
}

/** What is to be computed from elements that are gone. */
export interface Outdated {
  /** The parameter or buffer. */
  readonly leaf: Value;
  readonly change: Change;
}

/** A leaf that has been changed since nodes were made from it: what they would compute now is not what an eager framework has computed. */
export function findOutdated(nodes: readonly Node[]): Outdated | undefined {
  for (const node of nodes) {
    for (const leaf of node.inputs) {
      const change = isNode(leaf.node, 'Input') ? lastChange.get(leaf) : undefined;
      if (change !== undefined && node.madeAt < change.at) return { leaf, change };
    }
  }
  return undefined;
}

/** @param advice what to do, a sentence */
export function outdatedError(what: string, { leaf, change }: Outdated, advice: string): NnError {
  return new NnError(
    'ERR_OUTDATED',
    `${what} was made from ${describeLeaf(leaf)} before ${change.by} changed it. ${advice}`,
  );
}

function describeLeaf(leaf: Value): string {
  const { parameter } = isNode(leaf.node, 'Input') ? leaf.node.attributes.source : {};
  if (parameter === undefined) return `a buffer (${describeType(leaf)})`;
  return `${parameter.path === undefined ? 'a parameter' : `parameter ${parameter.path}`} (${describeType(leaf)})`;
}
