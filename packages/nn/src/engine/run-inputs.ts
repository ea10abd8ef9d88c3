import type { ValueBuffer } from '../executor/value-buffer.ts';
import type { ValueMemory } from '../executor/value-memory.ts';
import { isNode, type Node } from '../graph/node.ts';
import type { Source } from '../graph/source.ts';

/** The arrays of callers that a run reads, which starts after the call that passed them. */
export interface RunInputs {
  /** The buffer that the run reads for a leaf. */
  readonly of: (source: Source, memory: ValueMemory) => ValueBuffer;
  /**
   * Call it after a successful run.
   *
   * @throws NnError (ERR_NOT_AWAITED) if arrays were changed during the run, so that its results are wrong
   */
  requireUnchanged(): void;
  /** Call it after the run, even if it failed. */
  release(): void;
}

/** The sources of the leaves among nodes. */
export function sourcesOf(nodes: readonly Node[]): Source[] {
  const sources: Source[] = [];
  for (const node of nodes) if (isNode(node, 'Input')) sources.push(node.attributes.source);
  return sources;
}
