import { timed } from '@ringrun/core';
import type { GraphCall, Program } from '../executor/executor.ts';
import type { ValueBuffer } from '../executor/value-buffer.ts';
import { inSequence, type CollectiveNode } from '../graph/collective.ts';
import { sizeOf, type Value } from '../graph/node.ts';
import type { CollectiveGroup } from '../graph/operators.ts';
import type { Structure } from '../graph/structure.ts';
import { topologicalOrder } from '../graph/topology.ts';
import { perform } from '../ops/collective.ts';
import { compile, type CompileOptions } from './compile-graph.ts';

/** A collective on arrays of the host that are owned by the program. */
interface BoundCollective {
  readonly node: CollectiveNode;
  /** Index into the groups that are passed to `run`. */
  readonly group: number;
  readonly sends: readonly Float32Array[];
  readonly receives: readonly Float32Array[];
}

/** Arguments of one run, in the order of the program's structure. */
export interface Bindings {
  /** The leaves' elements. */
  readonly inputs: readonly ValueBuffer[];
  readonly outputs: readonly ValueBuffer[];
  /** Groups of the collectives. */
  readonly groups: readonly CollectiveGroup[];
  /** A call for each part. Default: none. */
  readonly starts?: readonly GraphCall[];
}

/** A compiled graph with its collectives, which it calls while it runs. */
export class GraphProgram {
  readonly #program: Program;
  readonly #collectives: readonly BoundCollective[];

  private constructor(program: Program, collectives: readonly BoundCollective[]) {
    this.#program = program;
    this.#collectives = collectives;
  }

  /** @param structure leaves and groups, in the order in which `run` takes them */
  static async compile(
    name: string,
    { leaves, groups }: Pick<Structure, 'leaves' | 'groups'>,
    outputs: readonly Value[],
    options?: CompileOptions,
  ): Promise<GraphProgram> {
    const collectives = inSequence(topologicalOrder(outputs)).map((node) => ({
      node,
      group: groups.indexOf(node.attributes.group),
      sends: node.inputs.map(arrayFor),
      receives: node.outputs.map(arrayFor),
    }));
    return new GraphProgram(await compile(name, leaves, outputs, options), collectives);
  }

  /**
   * Collectives use the same arrays in every run, so runs must not overlap.
   *
   * @returns the milliseconds for which the run waited for `starts`
   */
  run({ inputs, outputs, groups, starts = [] }: Bindings): Promise<number> {
    return this.#collectives.length === 0
      ? this.#program.run(inputs, outputs, starts)
      : this.#runWithCollectives({ inputs, outputs, groups, starts });
  }

  async #runWithCollectives({ inputs, outputs, groups, starts }: Required<Bindings>): Promise<number> {
    let waitedForCollectivesMs = 0;
    const collectives = this.#collectives.map(({ node, group, sends, receives }) => ({
      sends,
      receives,
      perform: async () => {
        const startedAt = performance.now();
        await timed('waiting', node.op, () => perform(node, groups[group], sends, receives));
        waitedForCollectivesMs += performance.now() - startedAt;
      },
    }));
    const waitedMs = await this.#program.run(inputs, outputs, [...collectives, ...starts]);
    return Math.max(0, waitedMs - waitedForCollectivesMs);
  }

  /** Frees the program's memory. It cannot run afterwards. */
  release(): Promise<void> {
    return this.#program.release();
  }
}

function arrayFor({ shape }: Value): Float32Array {
  return new Float32Array(sizeOf(shape));
}
