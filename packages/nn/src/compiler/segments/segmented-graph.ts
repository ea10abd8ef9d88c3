import type { Chain, Executor, Program } from '../../executor/executor.ts';
import type { ValueBuffer } from '../../executor/value-buffer.ts';
import { bytesPerElement } from '../../dtype.ts';
import type { Value } from '../../graph/node.ts';
import type { Leaf } from '../../graph/structure.ts';
import { topologicalOrder } from '../../graph/topology.ts';
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
  readonly #segments: readonly Segment[];
  /** One for each segment. */
  readonly #entries: readonly SegmentEntry[];
  readonly #programs: SegmentPrograms;
  readonly #leaves: readonly Leaf[];
  readonly #outputs: readonly Value[];

  private constructor(
    executor: Executor,
    segments: readonly Segment[],
    entries: readonly SegmentEntry[],
    programs: SegmentPrograms,
    leaves: readonly Leaf[],
    outputs: readonly Value[],
  ) {
    this.#executor = executor;
    this.#segments = segments;
    this.#entries = entries;
    this.#programs = programs;
    this.#leaves = leaves;
    this.#outputs = outputs;
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
    const segments = cut(topologicalOrder(outputs), outputs, programs.signatures());
    if (segments === undefined || segments.length < fewSegments) return undefined;
    if (bytesBetween(segments) > maxBytesBetween) return undefined;
    const entries = segments.map((segment) => programs.entryOf(segment));
    const countKnown = entries.filter(({ isKnown }) => isKnown).length;
    if (2 * countKnown < entries.length) return undefined;
    return new SegmentedGraph(executor, segments, entries, programs, leaves, outputs);
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
    const places = new Map<Value, number>();
    const buffers = [...inputs, ...outputs];
    for (const [index, { value }] of this.#leaves.entries()) places.set(value, index);
    for (const [index, value] of this.#outputs.entries()) {
      if (!places.has(value)) places.set(value, inputs.length + index);
    }
    let bytes = 0;
    const numbers: number[] = [];
    for (const segment of this.#segments) {
      for (const value of segment.inputs) numbers.push(places.get(value)!);
      for (const value of segment.outputs) {
        let place = places.get(value);
        if (place === undefined) {
          place = -1 - bytes;
          bytes += bytesOf(value);
          places.set(value, place);
        }
        numbers.push(place);
      }
    }
    return { programs, places: Float64Array.from(numbers), buffers, bytesBetween: bytes };
  }

  /** A value that is several outputs was computed once. */
  #copyRepeated(outputs: readonly ValueBuffer[]): void {
    const first = new Map<Value, ValueBuffer>();
    for (const [index, value] of this.#outputs.entries()) {
      const computed = first.get(value);
      if (computed === undefined) first.set(value, outputs[index]);
      else this.#executor.move([[computed, outputs[index]]]);
    }
  }
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
