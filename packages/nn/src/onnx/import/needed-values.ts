import type { BoundNode } from './bind.ts';
import { nodeError } from './call.ts';
import type { Fact, Facts, Need } from './facts.ts';

/** The values of a model that must be known before its graph runs, because shapes depend on them. */
export interface NeededValues {
  /** Arrays and inputs by their names. */
  readonly leaves: ReadonlySet<string>;
  /** Nodes that compute needed values, regardless of their size. */
  readonly nodes: ReadonlySet<BoundNode>;
}

/**
 * Traces values that must be known back to arrays of the file, shapes and inputs. Such an input is read when it is passed, so
 * no other operator may use it.
 *
 * @throws ArgumentError if such a value depends on elements of other values
 */
export function neededValues({ needs, reads }: Facts): NeededValues {
  const needed = new Set<Fact>();
  const failure = ({ fact, node, expected }: Need, obstacle: string) =>
    nodeError(
      'importOnnx',
      node,
      `expected ${expected}, got '${fact.name}' of ${fact.type ?? 'an unknown type'}, which depends on ${obstacle}`,
    );
  for (const need of needs) {
    const obstacle = obstacleOf(need.fact, needed);
    if (obstacle !== undefined) throw failure(need, obstacle);
  }
  const nodes = new Set([...needed].flatMap(({ origin }) => (isNode(origin) ? [origin] : [])));
  const data = new Set(reads.flatMap(({ fact, node }) => (nodes.has(node) ? [] : [fact])));
  for (const need of needs) {
    const input = inputsOf(need.fact).find((one) => !need.mayBeInput || data.has(one));
    if (input) throw failure(need, `the elements of the input '${input.name}'`);
  }
  const leaves = [...needed].flatMap(({ name, origin }) => (isNode(origin) ? [] : [name]));
  return { leaves: new Set(leaves), nodes };
}

function isNode(origin: Fact['origin']): origin is BoundNode {
  return typeof origin === 'object' && 'specification' in origin;
}

/** Marks a value as needed. Returns the value on whose elements it depends; undefined if it depends on none. */
function obstacleOf(fact: Fact, needed: Set<Fact>): string | undefined {
  if (needed.has(fact)) return undefined;
  needed.add(fact);
  const { origin, inputs } = fact;
  if (!isNode(origin) || origin.specification.isShape) return undefined;
  const { op, name, branches, specification } = origin;
  if (specification.fold === undefined && branches.length === 0) {
    return `the elements that ${op} (node ${name}) computes`;
  }
  for (const one of inputs) {
    const obstacle = one && obstacleOf(one, needed);
    if (obstacle !== undefined) return obstacle;
  }
  return undefined;
}

/** The inputs of the model on whose elements a value depends. */
function inputsOf(fact: Fact, seen = new Set<Fact>()): Fact[] {
  if (seen.has(fact)) return [];
  seen.add(fact);
  const { origin, inputs } = fact;
  if (origin === 'input') return [fact];
  if (isNode(origin) && origin.specification.isShape) return [];
  return inputs.flatMap((one) => (one ? inputsOf(one, seen) : []));
}
