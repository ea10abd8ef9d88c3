import { topologicalOrder } from '../../graph/topology.ts';
import type { ProgramDefinition } from '../executor.ts';
import { limitOf } from './kernels/index.ts';
import { isComputed } from './operators.ts';

/** Why a GPU cannot compute a graph, as the end of a sentence; undefined if it can. */
export function unsupportedBy({ outputs, update }: ProgramDefinition): string | undefined {
  const order = topologicalOrder([...outputs, ...(update?.outputs ?? [])]);
  const missing = new Set(order.filter((node) => !isComputed(node)).map(({ op }) => op));
  if (missing.size > 0) return `there is no kernel for ${[...missing].join(', ')}`;
  return order.map(limitOf).find((limit) => limit !== undefined);
}
