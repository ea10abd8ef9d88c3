import type { Structure, StructureKey } from '../../graph/structure.ts';
import { usesOwnOperators } from '../../ops/own/enabled.ts';
import { registerPrograms } from '../program-cache.ts';
import type { ProgramSummary } from '../recompilation-warning.ts';
import { describeSummary } from '../slow-compilation.ts';
import type { SegmentedGraph } from './segmented-graph.ts';

/** Runs that decide whether the next one is compiled. */
const window = 16;

/** Graphs of the window that were new, from which on the next new one is not compiled. */
const manyNew = 3;

/** Runs of one graph in the window, from which on it is compiled. */
const manyRuns = 3;

interface Run {
  readonly key: StructureKey;
  readonly isNew: boolean;
}

/** A graph that is about to run. */
interface NextRun {
  readonly structure: Pick<Structure, 'key' | 'groups'>;
  /** Whether it has a program. */
  readonly isCompiled: boolean;
  readonly summary: () => ProgramSummary;
  /** Cuts it; undefined if one program is better. */
  readonly cut: () => SegmentedGraph | undefined;
}

/**
 * Decides which graphs are worth a program of their own, from the last runs alone, so that the same runs are always
 * computed in the same way. A program of fixed structure compiles once. One whose structure changes, such as a loss over an episode
 * of any length, would spend almost all time on compiling.
 */
export class ChangingStructures {
  readonly #what: string;
  readonly #runs: Run[] = [];
  #lastNew: ProgramSummary | undefined;
  #hasWarned = false;

  /** @param what the graphs compute, in messages: `the loss` */
  constructor(what: string) {
    this.#what = what;
    registerPrograms({
      size: 0,
      shrinkTo: (size) => {
        if (size === 0) this.#runs.length = 0;
      },
    });
  }

  /** The segments as which a graph runs; undefined if it runs as one program. Call it for each run. */
  segmentsOf({ structure, isCompiled, summary, cut }: NextRun): SegmentedGraph | undefined {
    const changes = this.#record(structure.key, isCompiled);
    const before = this.#lastNew;
    if (!isCompiled && !this.#hasWarned) this.#lastNew = summary();
    // A graph with collectives starts them while it runs.
    if (!changes || structure.groups.length > 0 || !usesOwnOperators()) return undefined;
    const segments = cut();
    if (segments && before) this.#warn(before);
    return segments;
  }

  /** Returns true if the graph need not be compiled. */
  #record(key: StructureKey, isCompiled: boolean): boolean {
    const fresh = this.#runs.filter(({ isNew }) => isNew).length;
    const changes = !isCompiled && fresh >= manyNew;
    const returns = changes && this.#runs.filter((run) => run.key.equals(key)).length >= manyRuns;
    this.#runs.push({ key, isNew: !isCompiled });
    if (this.#runs.length > window) this.#runs.shift();
    return changes && !returns;
  }

  #warn(before: ProgramSummary): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    process.stderr.write(
      `ringrun: ${this.#what} is another graph from run to run: ${describeSummary(before)}; then ${describeSummary(this.#lastNew!)}. ` +
        'Its parts are compiled once each and run one after another. A graph that stays the same is faster: ' +
        'compute sequences together, padded to a few lengths (padTo of ringrun). (printed once)\n',
    );
  }
}
