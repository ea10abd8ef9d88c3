import { recordActivity } from '@ringrun/core';
import type { Executor, GraphCall, Program, RunBuffers, Waits } from '../executor/executor.ts';
import type { ValueBuffer } from '../executor/value-buffer.ts';
import { inSequence } from '../graph/collective.ts';
import type { Value } from '../graph/node.ts';
import type { CollectiveGroup } from '../graph/attributes.ts';
import type { Leaf, Structure } from '../graph/structure.ts';
import { topologicalOrder } from '../graph/topology.ts';
import { BoundCollective } from './bound-collective.ts';
import { definitionOf, type CompileOptions } from './program-definition.ts';

/** Arguments of one run, in the order of the program's structure. */
export interface Bindings {
  /** The leaves' elements. */
  readonly inputs: readonly ValueBuffer[];
  readonly outputs: readonly ValueBuffer[];
  /** Groups of the collectives. */
  readonly groups: readonly CollectiveGroup[];
  /** One call for each part. Default: none. */
  readonly starts?: readonly GraphCall[];
  /** Buffers of subsequent runs: see `Program.run`. Default: none. */
  readonly later?: readonly (() => RunBuffers)[];
}

/** A compiled graph with its collectives, which it starts while it runs. */
export class GraphProgram {
  readonly #program: Program;
  readonly #collectives: readonly BoundCollective[];

  private constructor(program: Program, collectives: readonly BoundCollective[]) {
    this.#program = program;
    this.#collectives = collectives;
  }

  /** @param structure leaves and groups, in the order in which `run` takes them */
  static async compile(
    executor: Executor,
    name: string,
    { leaves, groups }: Pick<Structure, 'leaves' | 'groups'>,
    outputs: readonly Value[],
    options?: CompileOptions,
  ): Promise<GraphProgram> {
    const collectives = inSequence(topologicalOrder(outputs)).map(
      (node) => new BoundCollective(node, groups.indexOf(node.attributes.group), executor),
    );
    const program = await executor.compile(definitionOf(name, leaves, outputs, options));
    return new GraphProgram(program, collectives);
  }

  /** Blocks the event loop while it compiles a graph without collectives. */
  static compileSync(
    executor: Executor,
    name: string,
    leaves: readonly Leaf[],
    outputs: readonly Value[],
  ): GraphProgram {
    return new GraphProgram(executor.compileSync(definitionOf(name, leaves, outputs)), []);
  }

  /**
   * Collectives use the same arrays in every run, so runs must not overlap.
   *
   * @returns how long the runs have waited: `waitedMs` for `starts`
   */
  run(bindings: Bindings): Promise<Waits> {
    const { inputs, outputs, starts, later } = bindings;
    return this.#collectives.length === 0
      ? this.#program.run(inputs, outputs, starts, later)
      : this.#runWithCollectives(bindings);
  }

  /** Blocks the event loop while a graph without collectives runs. */
  runSync(inputs: readonly ValueBuffer[], outputs: readonly ValueBuffer[]): void {
    this.#program.runSync(inputs, outputs);
  }

  async #runWithCollectives({ inputs, outputs, groups, starts = [], later }: Bindings): Promise<Waits> {
    let recordedMs = 0;
    const collectives = this.#collectives.map((collective) =>
      collective.callOn(groups[collective.group], (ms) => {
        recordedMs += ms;
      }),
    );
    const calls = [...collectives, ...starts];
    const { waitedMs, ranMs } = await this.#program.run(inputs, outputs, calls, later);
    const endedAt = performance.now();
    if (ranMs > recordedMs) recordActivity('waiting', 'collectives', endedAt - ranMs + recordedMs, endedAt);
    return { waitedMs: waitedMs - ranMs, ranMs };
  }

  /** Frees the program's memory. It cannot run afterwards. */
  release(): Promise<void> {
    return this.#program.release();
  }
}
