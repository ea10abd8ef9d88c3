import type { Executor, Program } from '../../executor/executor.ts';
import type { Node, Value } from '../../graph/node.ts';
import { createNode, isNode } from '../../graph/node.ts';
import type { Source } from '../../graph/source.ts';
import type { Leaf } from '../../graph/structure.ts';
import { newArray } from '../../dtype.ts';
import { input } from '../../ops/source.ts';
import { programCache, registerPrograms } from '../program-cache.ts';
import { definitionOf } from '../program-definition.ts';
import { isLeaf, type Segment, type SegmentKey } from './cut.ts';
import { Signatures } from './signatures.ts';

/** Programs of segments for each program that `programCache.maxSize` allows: a program of a few nodes takes little memory. */
const perProgram = 64;

/** Segments without a program that are remembered. */
const maxSeen = 4096;

/** More signatures than this are forgotten, with the segments: a program of so many different shapes does not reuse them. */
const maxSignatures = 100_000;

/** A segment that graphs have. */
export interface SegmentEntry {
  readonly key: SegmentKey;
  /** `Executor.settings` at the time of compilation. */
  readonly settings: string | undefined;
  /** Undefined until it is compiled. */
  program: Program | undefined;
  /** True from the second graph or place on. */
  isKnown: boolean;
}

/** The compiled segments of one executor, a least-recently-used cache. */
export class SegmentPrograms {
  readonly #executor: Executor;
  readonly #byHash = new Map<number, SegmentEntry[]>();
  /** Those that are not compiled, the oldest first. */
  readonly #seen = new Set<SegmentEntry>();
  /** Those that are compiled. The most recently used is last. */
  readonly #compiled = new Set<SegmentEntry>();
  /** Of the nodes of segments. */
  #signatures = new Signatures();
  /** Runs that have not ended, and the programs that are released after them. */
  #users = 0;
  readonly #evicted: Program[] = [];

  constructor(executor: Executor) {
    this.#executor = executor;
    registerPrograms(this);
  }

  get size(): number {
    return this.#compiled.size;
  }

  /** The entry of a segment, which is one object for equal segments. */
  entryOf({ key }: Segment): SegmentEntry {
    const settings = this.#executor.settings?.();
    const alike = this.#byHash.get(key.hash);
    const known = alike?.find((entry) => entry.settings === settings && entry.key.equals(key));
    if (known) {
      known.isKnown = true;
      return known;
    }
    const entry: SegmentEntry = { key, settings, program: undefined, isKnown: false };
    if (alike) alike.push(entry);
    else this.#byHash.set(key.hash, [entry]);
    this.#seen.add(entry);
    return entry;
  }

  /** The signatures for the next graph. Call it before the graph is cut: it forgets segments that no graph may have again. */
  signatures(): Signatures {
    if (this.#signatures.size > maxSignatures) this.shrinkTo(0);
    for (const entry of this.#seen) {
      if (this.#seen.size <= maxSeen) break;
      this.#seen.delete(entry);
      this.#forget(entry);
    }
    return this.#signatures;
  }

  /**
   * Runs the programs of segments, one for each, which it compiles if they are new. They are released only after the run.
   *
   * @param segments undefined if all have programs
   */
  async use(
    segments: readonly Segment[] | undefined,
    entries: readonly SegmentEntry[],
    run: (programs: readonly Program[]) => Promise<void>,
  ): Promise<void> {
    this.#users += 1;
    try {
      const programs: Program[] = [];
      for (const [index, entry] of entries.entries()) {
        programs.push(
          entry.program ??
            this.#add(entry, await this.#executor.compile(definitionOfSegment(segments![index]))),
        );
      }
      this.#touch(entries);
      await run(programs);
    } finally {
      this.#users -= 1;
      this.#releaseEvicted();
    }
  }

  /** The programs of segments, for a run that blocks the event loop, as the compilation of new ones does. Run them at once. */
  sync(segments: readonly Segment[] | undefined, entries: readonly SegmentEntry[]): readonly Program[] {
    const programs = entries.map(
      (entry, index) =>
        entry.program ?? this.#add(entry, this.#executor.compileSync(definitionOfSegment(segments![index]))),
    );
    this.#touch(entries);
    return programs;
  }

  /** Releases the least recently used programs; with 0, forgets all segments. */
  shrinkTo(programs: number): void {
    for (const entry of this.#compiled) {
      if (this.#compiled.size <= perProgram * programs) break;
      this.#compiled.delete(entry);
      this.#forget(entry);
      this.#evicted.push(entry.program!);
      entry.program = undefined;
    }
    if (programs === 0) {
      this.#seen.clear();
      this.#byHash.clear();
      this.#signatures = new Signatures();
    }
    this.#releaseEvicted();
  }

  #releaseEvicted(): void {
    if (this.#users > 0) return;
    for (const program of this.#evicted.splice(0)) void program.release();
  }

  #add(entry: SegmentEntry, program: Program): Program {
    entry.program = program;
    this.#seen.delete(entry);
    this.#compiled.add(entry);
    return program;
  }

  #forget(entry: SegmentEntry): void {
    const others = this.#byHash.get(entry.key.hash)?.filter((other) => other !== entry) ?? [];
    if (others.length > 0) this.#byHash.set(entry.key.hash, others);
    else this.#byHash.delete(entry.key.hash);
  }

  /** Makes the programs of a run the most recent. */
  #touch(entries: readonly SegmentEntry[]): void {
    const used = new Set(entries.filter((entry) => this.#compiled.has(entry)));
    for (const entry of used) {
      this.#compiled.delete(entry);
      this.#compiled.add(entry);
    }
    // The least recent are first, so these remain, unless they alone are too many.
    this.shrinkTo(Math.max(programCache.maxSize, Math.ceil(used.size / perProgram)));
  }
}

/** The segment as a graph of its own, whose leaves are the values from outside. */
function definitionOfSegment({ nodes, inputs, outputs }: Segment) {
  const replaced = new Map<Value, Value>();
  const leaves = inputs.map((value): Leaf => {
    const leaf = leafFor(value);
    replaced.set(value, leaf.value);
    return leaf;
  });
  const current = (value: Value): Value => replaced.get(value) ?? value;
  for (const node of nodes) {
    const rebuilt: Node = createNode(node.op, node.inputs.map(current), node.attributes, node.outputs);
    for (const output of node.outputs) replaced.set(output, rebuilt.outputs[output.index]);
  }
  return definitionOf('segment', leaves, outputs.map(current), { purpose: 'segment' });
}

function leafFor(value: Value): Leaf {
  const { node, dtype, shape } = value;
  if (isNode(node, 'Input')) return { value, source: node.attributes.source };
  // Runs bind other elements, of which there may be none here.
  const source: Source = { data: newArray(dtype, isLeaf(node) ? 1 : 0) };
  return { value: input(dtype, shape, source), source };
}
