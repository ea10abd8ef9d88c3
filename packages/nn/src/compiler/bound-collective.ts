import { registry, timed, type PreparedCollective } from '@ringrun/core';
import type { GraphCall, PerformedCall } from '../executor/executor.ts';
import type { ValueMemory } from '../executor/value-memory.ts';
import type { CollectiveNode } from '../graph/collective.ts';
import type { CollectiveGroup } from '../graph/attributes.ts';
import { messageOf, type CollectiveMessage } from '../ops/collective.ts';
import { insideOperation } from '../executor/operation-queue.ts';

/** The memory of a collective: the elements that this rank sends and receives. */
type Memory = Pick<PreparedCollective, 'input' | 'output'>;

/**
 * A collective of a compiled graph. The graph starts it without JavaScript if the group supports it, and otherwise awaits a
 * JavaScript call. Ranks may differ in this, because the group's operation is the same.
 */
export class BoundCollective {
  /** Index into the groups that are passed to a run. */
  readonly group: number;
  readonly #memory: Pick<ValueMemory, 'usesHostMemory' | 'collectives'>;
  readonly #op: string;
  readonly #message: CollectiveMessage;
  readonly #prepared = new WeakMap<CollectiveGroup, PreparedCollective>();
  readonly #memories = new WeakMap<CollectiveGroup, Memory>();

  /** @param memory of the program that contains it */
  constructor(
    node: CollectiveNode,
    group: number,
    memory: Pick<ValueMemory, 'usesHostMemory' | 'collectives'>,
  ) {
    this.#memory = memory;
    this.group = group;
    this.#op = node.op;
    this.#message = messageOf(node);
  }

  /** The call of the graph. `waited` receives the milliseconds that a JavaScript call took. */
  callOn(group: CollectiveGroup, waited: (ms: number) => void): GraphCall {
    const ofDevices = this.#memory.collectives?.groupOf(group);
    if (ofDevices) {
      return { group: ofDevices, buckets: [], onHost: this.#callOfJavaScript(group, waited) };
    }
    const prepared = this.#preparedOn(group);
    return prepared === undefined
      ? this.#callOfJavaScript(group, waited)
      : { ...this.#arrays(prepared), operations: [prepared] };
  }

  #preparedOn(group: CollectiveGroup): PreparedCollective | undefined {
    if (!group.mayStartCollectives || !this.#memory.usesHostMemory) return undefined;
    // An observer replaces the methods of the group, to record their calls.
    if (registry.activityObserver !== undefined) return undefined;
    const { name, length } = this.#message;
    const prepared = this.#prepared.get(group) ?? group.prepareCollective!(name, length);
    this.#prepared.set(group, prepared);
    return prepared;
  }

  #callOfJavaScript(group: CollectiveGroup, waited: (ms: number) => void): PerformedCall {
    const { name } = this.#message;
    const memory = this.#memories.get(group) ?? this.#allocate(group);
    this.#memories.set(group, memory);
    const { input, output } = memory;
    const perform = async () => {
      const startedAt = performance.now();
      // The group may be implemented by the user's program.
      const collective = () =>
        name === 'allReduce' ? group.allReduce(input) : group.allGather(output, input);
      await timed('waiting', this.#op, () => insideOperation(collective));
      waited(performance.now() - startedAt);
    };
    return { ...this.#arrays(memory), perform };
  }

  #allocate({ size }: CollectiveGroup): Memory {
    const { name, length } = this.#message;
    const input = new Float32Array(length);
    return { input, output: name === 'allReduce' ? input : new Float32Array(size * length) };
  }

  #arrays({ input, output }: Memory) {
    const { count, refusal } = this.#message;
    if (count !== undefined) input[input.length - 1] = count;
    return { sends: [input], receives: [output], ...(refusal && { refusal: () => refusal(output) }) };
  }
}
