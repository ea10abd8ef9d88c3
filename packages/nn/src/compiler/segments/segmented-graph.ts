import type { Chain, Executor, Program } from '../../executor/executor.ts';
import type { ValueBuffer } from '../../executor/value-buffer.ts';
import { bytesPerElement } from '../../dtype.ts';
import type { Value } from '../../graph/node.ts';
import type { Leaf } from '../../graph/structure.ts';
import { topologicalOrder } from '../../graph/topology.ts';
import { ValueNumbers } from '../../graph/value-numbers.ts';
import { inFloat32, sizeOf } from '../../value-type.ts';
import { cut, type Segment } from './cut.ts';
import { SegmentPrograms, type SegmentEntry } from './segment-programs.ts';

/** Values between segments take new memory in each run, at most this. */
const maxBytesBetween = 2 ** 25;

/** A graph of fewer segments compiles in little time, and such graphs are few. */
const fewSegments = 12;

/** Processors read aligned vectors faster. */
const alignment = 64;

const known = new WeakMap<Executor, SegmentPrograms>();

function programsOf(executor: Executor): SegmentPrograms {
  const programs = known.get(executor) ?? new SegmentPrograms(executor);
  known.set(executor, programs);
  return programs;
}

/** A graph that runs as programs of its segments, of which other graphs have the same ones. */
export class SegmentedGraph {
  readonly #executor: Executor;
  /** Undefined if the graph runs only while all of its segments have programs. */
  readonly #segments: readonly Segment[] | undefined;
  /** One for each segment. */
  readonly #entries: readonly SegmentEntry[];
  readonly #programs: SegmentPrograms;
  readonly #layout: Layout;

  private constructor(
    executor: Executor,
    segments: readonly Segment[] | undefined,
    entries: readonly SegmentEntry[],
    programs: SegmentPrograms,
    layout: Layout,
  ) {
    this.#executor = executor;
    this.#segments = segments;
    this.#entries = entries;
    this.#programs = programs;
    this.#layout = layout;
  }

  /**
   * @param leaves in the order of the inputs of `run`
   * @returns undefined if one program is better: the graph cannot be cut, its values are large, or most segments are new
   */
  static of(
    executor: Executor,
    leaves: readonly Leaf[],
    outputs: readonly Value[],
  ): SegmentedGraph | undefined {
    if (executor.runChain === undefined) return undefined;
    const programs = programsOf(executor);
    const order = topologicalOrder(outputs);
    const numbers = new ValueNumbers(order);
    const segments = cut(order, numbers, outputs, programs.signatures());
    if (segments === undefined || segments.length < fewSegments) return undefined;
    if (bytesBetween(segments) > maxBytesBetween) return undefined;
    const entries = segments.map((segment) => programs.entryOf(segment));
    const countKnown = entries.filter(({ isKnown }) => isKnown).length;
    if (2 * countKnown < entries.length) return undefined;
    const layout = layoutOf(leaves, outputs, segments, numbers);
    return new SegmentedGraph(executor, segments, entries, programs, layout);
  }

  /** The graph without its nodes, and so without parameters and batches, for equal graphs. */
  withoutNodes(): SegmentedGraph {
    return new SegmentedGraph(this.#executor, undefined, this.#entries, this.#programs, this.#layout);
  }

  /** Returns true if all segments have programs, and counts it as another graph that has them. */
  isReusedBy(executor: Executor): boolean {
    const settings = executor.settings?.();
    if (executor !== this.#executor) return false;
    if (!this.#entries.every((entry) => entry.program && entry.settings === settings)) return false;
    for (const entry of this.#entries) entry.isKnown = true;
    return true;
  }

  /** @param inputs one buffer for each leaf */
  async run(inputs: readonly ValueBuffer[], outputs: readonly ValueBuffer[]): Promise<void> {
    await this.#programs.use(this.#segments, this.#entries, (programs) =>
      this.#executor.runChain!(this.#chainOf(programs, inputs, outputs)),
    );
    this.#copyRepeated(outputs);
  }

  /** `run`, which blocks the event loop. */
  runSync(inputs: readonly ValueBuffer[], outputs: readonly ValueBuffer[]): void {
    const programs = this.#programs.sync(this.#segments, this.#entries);
    this.#executor.runChainSync!(this.#chainOf(programs, inputs, outputs));
    this.#copyRepeated(outputs);
  }

  #chainOf(
    programs: readonly Program[],
    inputs: readonly ValueBuffer[],
    outputs: readonly ValueBuffer[],
  ): Chain {
    const { places, bytesBetween } = this.#layout;
    return { programs, places, buffers: [...inputs, ...outputs], bytesBetween };
  }

  #copyRepeated(outputs: readonly ValueBuffer[]): void {
    const { repeated } = this.#layout;
    this.#executor.move(repeated.map(([computed, copy]) => [outputs[computed], outputs[copy]]));
  }
}

/** Where the values of a graph are in each run. */
interface Layout {
  /** See `Chain`. */
  readonly places: Float64Array;
  readonly bytesBetween: number;
  /** Positions of outputs whose value is an earlier output too, which is computed once. */
  readonly repeated: readonly (readonly [computed: number, copy: number])[];
}

function layoutOf(
  leaves: readonly Leaf[],
  outputs: readonly Value[],
  segments: readonly Segment[],
  numbers: ValueNumbers,
): Layout {
  const places = new Float64Array(numbers.size).fill(NaN);
  for (const [index, { value }] of leaves.entries()) {
    if (numbers.has(value.node)) places[numbers.of(value)] = index;
  }
  const repeated: [number, number][] = [];
  for (const [index, value] of outputs.entries()) {
    const number = numbers.of(value);
    if (Number.isNaN(places[number])) places[number] = leaves.length + index;
    else repeated.push([places[number] - leaves.length, index]);
  }
  let bytesBetween = 0;
  const used: number[] = [];
  for (const segment of segments) {
    for (const value of segment.inputs) used.push(places[numbers.of(value)]);
    for (const value of segment.outputs) {
      const number = numbers.of(value);
      if (Number.isNaN(places[number])) {
        places[number] = -1 - bytesBetween;
        bytesBetween += bytesOf(value);
      }
      used.push(places[number]);
    }
  }
  return { places: Float64Array.from(used), bytesBetween, repeated };
}

function bytesBetween(segments: readonly Segment[]): number {
  let bytes = 0;
  for (const { outputs } of segments) for (const output of outputs) bytes += bytesOf(output);
  return bytes;
}

function bytesOf(value: Value): number {
  const { dtype, shape } = inFloat32(value);
  return Math.ceil((sizeOf(shape) * bytesPerElement[dtype]) / alignment) * alignment;
}
