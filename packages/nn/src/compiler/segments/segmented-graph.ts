import type { Chain, Executor, Program } from '../../executor/executor.ts';
import type { ValueBuffer } from '../../executor/value-buffer.ts';
import { newArray } from '../../dtype.ts';
import type { Value } from '../../graph/node.ts';
import type { Leaf } from '../../graph/structure.ts';
import { topologicalOrder } from '../../graph/topology.ts';
import { inFloat32, sizeOf } from '../../value-type.ts';
import { cut, type Segment } from './cut.ts';
import { SegmentPrograms, type SegmentEntry } from './segment-programs.ts';
import { Signatures } from './signatures.ts';

/** Values between segments take new memory in each run, at most this. */
const maxBytesBetween = 2 ** 25;

/** A graph of fewer segments compiles in little time, and such graphs are few. */
const fewSegments = 12;

/** Processors read aligned vectors faster. */
const alignment = 64;

/** More signatures than this are forgotten, with the programs: a program of so many different shapes does not reuse them. */
const maxSignatures = 100_000;

interface OfExecutor {
  readonly programs: SegmentPrograms;
  signatures: Signatures;
}

const known = new WeakMap<Executor, OfExecutor>();

function stateOf(executor: Executor): OfExecutor {
  let state = known.get(executor);
  if (state === undefined) {
    state = { programs: new SegmentPrograms(executor), signatures: new Signatures() };
    known.set(executor, state);
  }
  if (state.signatures.size > maxSignatures) {
    state.programs.shrinkTo(0);
    state.signatures = new Signatures();
  }
  return state;
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
    const { programs, signatures } = stateOf(executor);
    programs.forgetOldest();
    const segments = cut(topologicalOrder(outputs), outputs, signatures);
    if (segments === undefined || segments.length < fewSegments) return undefined;
    if (bytesBetween(segments) > maxBytesBetween) return undefined;
    const entries = segments.map((segment) => programs.entryOf(segment));
    const known = entries.filter(({ isKnown }) => isKnown);
    if (2 * known.length < entries.length) return undefined;
    return new SegmentedGraph(executor, segments, entries, programs, leaves, outputs);
  }

  get size(): number {
    return this.#segments.length;
  }

  /** @param inputs one buffer for each leaf */
  async run(inputs: readonly ValueBuffer[], outputs: readonly ValueBuffer[]): Promise<void> {
    const chain = this.#chainOf(await this.#programs.of(this.#segments, this.#entries), inputs, outputs);
    await this.#executor.runChain!(chain);
    this.#copyRepeated(outputs);
  }

  /** `run`, which blocks the event loop. */
  runSync(inputs: readonly ValueBuffer[], outputs: readonly ValueBuffer[]): void {
    this.#executor.runChainSync!(
      this.#chainOf(this.#programs.ofSync(this.#segments, this.#entries), inputs, outputs),
    );
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
      else this.#executor.move(computed, outputs[index]);
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
  return Math.ceil((sizeOf(shape) * bytesPerElement(dtype)) / alignment) * alignment;
}

const sizes = new Map<string, number>();

function bytesPerElement(dtype: Parameters<typeof newArray>[0]): number {
  let bytes = sizes.get(dtype);
  if (bytes === undefined) sizes.set(dtype, (bytes = newArray(dtype, 0).BYTES_PER_ELEMENT));
  return bytes;
}
