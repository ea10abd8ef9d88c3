import { isNode, type Node } from '../../graph/node.ts';
import { producersOf } from '../node-groups.ts';
import type { Unit } from './units.ts';

/** Units of an update by when they run. */
export interface CheckedUpdate {
  /** Those that may refuse the run, and what they need. */
  readonly checks: readonly Unit[];
  /** Those that write parameters and states. */
  readonly others: readonly Unit[];
}

/**
 * Puts the units of an update that may refuse the run, such as those of a norm that must be finite, before all others: a run that is
 * refused changes nothing.
 *
 * @param units each after those that it reads
 */
export function withChecksFirst(units: readonly Unit[]): CheckedUpdate {
  const needed = new Set<Node>();
  const checks = new Set<Unit>();
  for (const unit of units.toReversed()) {
    if (!unit.nodes.some((node) => mayRefuse(node) || needed.has(node))) continue;
    checks.add(unit);
    for (const node of producersOf(unit.nodes)) needed.add(node);
  }
  return { checks: [...checks].toReversed(), others: units.filter((unit) => !checks.has(unit)) };
}

function mayRefuse(node: Node): boolean {
  if (isNode(node, 'ClipNorm') || isNode(node, 'ClipNormOfParts')) return node.attributes.requiresFinite;
  return checking.has(node.op);
}

/** Operators that refuse positions; without operators of ringrun, a norm that is not finite selects none. */
const checking = new Set<string>(['Gather', 'GatherElements', 'CheckIndices', 'CheckProbabilities']);
