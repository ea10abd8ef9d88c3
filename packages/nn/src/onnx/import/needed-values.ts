import type { BoundNode } from './bind.ts';
import { nodeError } from './call.ts';
import type { Fact, Facts } from './facts.ts';

/** The values of a model that must be known before its graph runs, since shapes follow from them. */
export interface NeededValues {
  /** Arrays and inputs by their names. */
  readonly leaves: ReadonlySet<string>;
  /** Nodes that compute needed values, whatever their size is. */
  readonly nodes: ReadonlySet<BoundNode>;
}

/**
 * Follows what must be known back to arrays of the file, shapes and inputs.
 *
 * @throws ArgumentError if a value depends on elements on the way
 */
export function neededValues({ needs }: Facts): NeededValues {
  const needed = new Set<Fact>();
  for (const { fact, node, expected } of needs) {
    const obstacle = obstacleOf(fact, needed);
    if (obstacle === undefined) continue;
    const got = `'${fact.name}' of ${fact.type ?? 'an unknown type'}, which depends on ${obstacle}`;
    throw nodeError('importOnnx', node, `expected ${expected}, got ${got}`);
  }
  const [leaves, nodes] = [new Set<string>(), new Set<BoundNode>()];
  for (const { name, origin } of needed) {
    if (typeof origin === 'object' && 'specification' in origin) nodes.add(origin);
    else leaves.add(name);
  }
  return { leaves, nodes };
}

/** Marks a value as needed. Returns what makes it depend on elements; undefined if it does not. */
function obstacleOf(fact: Fact, needed: Set<Fact>): string | undefined {
  if (needed.has(fact)) return undefined;
  needed.add(fact);
  const { origin, inputs } = fact;
  if (origin === 'input') return undefined;
  if (!('specification' in origin) || origin.specification.isShape) return undefined;
  const { op, name, branches, specification } = origin;
  if (specification.fold === undefined && branches.length === 0)
    return `the elements that ${op} (node ${name}) computes`;
  for (const one of inputs) {
    const obstacle = one && obstacleOf(one, needed);
    if (obstacle !== undefined) return obstacle;
  }
  return undefined;
}
