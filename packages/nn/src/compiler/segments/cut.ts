import { isNode, type Node, type Value } from '../../graph/node.ts';
import { isSameSequence } from '../../graph/same-data.ts';
import { isParameter } from '../../graph/topology.ts';
import type { ValueNumbers } from '../../graph/value-numbers.ts';
import { Hash } from './hash.ts';
import type { Signature, Signatures } from './signatures.ts';

/** What two segments must share to be one program: signatures and edges of their nodes, and which values others read. */
export class SegmentKey {
  readonly hash: number;
  readonly #numbers: readonly number[];

  constructor(numbers: readonly number[]) {
    const hash = new Hash();
    for (const number of numbers) hash.add(number);
    this.hash = hash.value;
    this.#numbers = numbers;
  }

  equals(other: SegmentKey): boolean {
    return isSameSequence(this.#numbers, other.#numbers);
  }
}

/** Consecutive nodes of a graph, which are compiled as one program. */
export interface Segment {
  readonly key: SegmentKey;
  /** In topological order, with the constants that they read. */
  readonly nodes: readonly Node[];
  /** The values from outside, each once, in the order of the program's inputs. */
  readonly inputs: readonly Value[];
  /** The values that others read, in the order of the program's outputs. */
  readonly outputs: readonly Value[];
}

/** Nodes of a segment, without constants; inputs and outputs of a node that is a segment of its own. */
const sizes = { least: 6, most: 32, wide: 8 };

/**
 * Cuts a graph so that repeated parts, such as the steps of an episode, become equal segments, wherever they begin and however many
 * there are:
 *
 * - A segment begins at a node that reads nothing of the segment before it, such as the first node of another sequence of a list.
 * - A longer chain, such as the steps of a cell that reads its last state, is cut before the node whose signature has the least hash
 *   among the next ones, as in content-defined chunking of files.
 *
 * @param order all nodes of the graph, topological
 * @param numbers of its values
 * @param outputs of the graph
 * @returns undefined if the graph cannot be cut
 */
export function cut(
  order: readonly Node[],
  numbers: ValueNumbers,
  outputs: readonly Value[],
  signatures: Signatures,
): readonly Segment[] | undefined {
  if (outputs.some(({ node }) => isLeaf(node) || isNode(node, 'Constant'))) return undefined;
  const nodes: Node[] = [];
  const signed: Signature[] = [];
  const places = new Int32Array(order.length).fill(none);
  for (let position = 0; position < order.length; position += 1) {
    const node = order[position];
    if (isLeaf(node) || isNode(node, 'Constant')) continue;
    const signature = signatures.of(node);
    if (signature === undefined) return undefined;
    places[position] = nodes.length;
    nodes.push(node);
    signed.push(signature);
  }
  const ends = endsOf(nodes, signed, places);
  const cutting = new Cutting(order, numbers, signatures);
  for (let segment = 0; segment < ends.length; segment += 1) {
    for (let place = ends[segment - 1] ?? 0; place < ends[segment]; place += 1)
      cutting.assign(nodes[place], segment);
  }
  for (const output of outputs) cutting.read(output);
  for (const node of nodes) cutting.readInputsOf(node);
  return ends.map((end, segment) => cutting.segment(segment, nodes, signed, ends[segment - 1] ?? 0, end));
}

/** In arrays of positions and places. */
const none = -1;

/** True for nodes that a run binds to arrays. */
export function isLeaf(node: Node): boolean {
  return isNode(node, 'Input') || isNode(node, 'Number');
}

function endsOf(nodes: readonly Node[], signed: readonly Signature[], places: Int32Array): readonly number[] {
  const ends: number[] = [];
  for (let start = 0; start < signed.length;) {
    const end = endFrom(nodes, signed, places, start);
    ends.push(end);
    start = end;
  }
  return ends;
}

/** @param places of nodes among `nodes`, by their position */
function endFrom(
  nodes: readonly Node[],
  signed: readonly Signature[],
  places: Int32Array,
  start: number,
): number {
  if (isWide(signed[start])) return start + 1;
  const last = Math.min(start + sizes.most, nodes.length - 1);
  let end = Math.min(start + sizes.least, nodes.length);
  for (let place = start + 1; place <= last; place += 1) {
    if (isWide(signed[place])) return place;
    if (!nodes[place].inputs.some(({ node }) => places[node.position] >= start)) return place;
    if (place > end && signed[place].hash < signed[end].hash) end = place;
  }
  return end;
}

/** True for a node with so many inputs and outputs that their number probably changes: a list of any length. */
function isWide({ types }: Signature): boolean {
  return types.length > sizes.wide;
}

/** Marks in keys, beside numbers from 0 on. */
const marks = { constant: -1, parameter: -2, value: -3, known: -4, outputs: -5 };

/** Makes the segments of a graph, in their order. */
class Cutting {
  readonly #numbers: ValueNumbers;
  readonly #signatures: Signatures;
  /** By position: the segment of a node; of a constant, the last segment that has it. */
  readonly #segmentOf: Int32Array;
  /** By position: the place of a node in that segment. */
  readonly #placeOf: Int32Array;
  /** By number: 1 for a value that another segment or the caller reads. */
  readonly #isRead: Uint8Array;
  /** By number: the last segment that has the value as an input, and which input it is there. */
  readonly #readBy: Int32Array;
  readonly #inputOf: Int32Array;

  constructor(order: readonly Node[], numbers: ValueNumbers, signatures: Signatures) {
    this.#numbers = numbers;
    this.#signatures = signatures;
    this.#segmentOf = new Int32Array(order.length).fill(none);
    this.#placeOf = new Int32Array(order.length);
    this.#isRead = new Uint8Array(numbers.size);
    this.#readBy = new Int32Array(numbers.size).fill(none);
    this.#inputOf = new Int32Array(numbers.size);
  }

  /** Puts a node into a segment. */
  assign(node: Node, segment: number): void {
    this.#segmentOf[node.position] = segment;
  }

  /** The caller reads a value. */
  read(value: Value): void {
    this.#isRead[this.#numbers.of(value)] = 1;
  }

  /** Call it for each node after all are in segments. */
  readInputsOf(node: Node): void {
    const segment = this.#segmentOf[node.position];
    for (const input of node.inputs) {
      if (this.#segmentOf[input.node.position] !== segment) this.read(input);
    }
  }

  /** A segment: the nodes from `from` to `end`. */
  segment(
    segment: number,
    nodes: readonly Node[],
    signed: readonly Signature[],
    from: number,
    end: number,
  ): Segment {
    const all: Node[] = [];
    const inputs: Value[] = [];
    const outputs: Value[] = [];
    const key: number[] = [];
    for (let place = from; place < end; place += 1) {
      this.#add(nodes[place], signed[place], { segment, all, inputs, key });
    }
    key.push(marks.outputs);
    for (let place = from; place < end; place += 1) {
      for (const output of nodes[place].outputs) {
        if (this.#isRead[this.#numbers.of(output)] === 0) continue;
        outputs.push(output);
        key.push(this.#placeOf[nodes[place].position], output.index);
      }
    }
    return { key: new SegmentKey(key), nodes: all, inputs, outputs };
  }

  #add(node: Node, { number }: Signature, begun: BegunSegment): void {
    const { segment, all, key } = begun;
    key.push(number);
    for (const input of node.inputs) this.#addEdge(input, begun);
    this.#segmentOf[node.position] = segment;
    this.#placeOf[node.position] = all.length;
    all.push(node);
  }

  #addEdge(value: Value, begun: BegunSegment): void {
    const { node, index } = value;
    if (this.#segmentOf[node.position] === begun.segment) begun.key.push(this.#placeOf[node.position], index);
    else if (isNode(node, 'Constant')) {
      begun.key.push(marks.constant);
      this.#add(node, this.#signatures.of(node)!, begun);
    } else this.#addOutside(value, begun);
  }

  #addOutside(value: Value, { segment, inputs, key }: BegunSegment): void {
    const number = this.#numbers.of(value);
    if (this.#readBy[number] === segment) {
      key.push(marks.known, this.#inputOf[number]);
      return;
    }
    this.#readBy[number] = segment;
    this.#inputOf[number] = inputs.length;
    inputs.push(value);
    // A program may prepare a parameter once for many runs.
    key.push(isParameter(value.node) ? marks.parameter : marks.value);
  }
}

/** A segment whose nodes are being added. */
interface BegunSegment {
  readonly segment: number;
  readonly all: Node[];
  readonly inputs: Value[];
  readonly key: number[];
}
