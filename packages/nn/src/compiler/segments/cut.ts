import { isNode, type Node, type Value } from '../../graph/node.ts';
import { isSameSequence } from '../../graph/same-data.ts';
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
 * @param outputs of the graph
 * @returns undefined if the graph cannot be cut
 */
export function cut(
  order: readonly Node[],
  outputs: readonly Value[],
  signatures: Signatures,
): readonly Segment[] | undefined {
  if (outputs.some(({ node }) => isLeaf(node) || isNode(node, 'Constant'))) return undefined;
  const nodes: Node[] = [];
  const signed: Signature[] = [];
  for (const node of order) {
    if (isLeaf(node) || isNode(node, 'Constant')) continue;
    const signature = signatures.of(node);
    if (signature === undefined) return undefined;
    nodes.push(node);
    signed.push(signature);
  }
  const ends = endsOf(nodes, signed);
  const segmentOf = new Map<Node, number>();
  for (let place = 0, segment = 0; place < nodes.length; place += 1) {
    if (place === ends[segment]) segment += 1;
    segmentOf.set(nodes[place], segment);
  }
  const escaping = new Set<Value>(outputs);
  for (const [node, segment] of segmentOf) {
    for (const input of node.inputs) if (segmentOf.get(input.node) !== segment) escaping.add(input);
  }
  let from = 0;
  return ends.map((end) => {
    const segment = segmentFrom(nodes.slice(from, end), signed.slice(from, end), escaping, signatures);
    from = end;
    return segment;
  });
}

/** True for nodes that a run binds to arrays. */
export function isLeaf(node: Node): boolean {
  return isNode(node, 'Input') || isNode(node, 'Number');
}

function endsOf(nodes: readonly Node[], signed: readonly Signature[]): readonly number[] {
  const ends: number[] = [];
  for (let start = 0; start < signed.length;) {
    const end = endFrom(nodes, signed, start);
    ends.push(end);
    start = end;
  }
  return ends;
}

function endFrom(nodes: readonly Node[], signed: readonly Signature[], start: number): number {
  if (isWide(signed[start])) return start + 1;
  const inside = new Set<Node>([nodes[start]]);
  const last = Math.min(start + sizes.most, nodes.length - 1);
  let end = Math.min(start + sizes.least, nodes.length);
  for (let place = start + 1; place <= last; place += 1) {
    const { inputs } = nodes[place];
    if (isWide(signed[place])) return place;
    if (!inputs.some(({ node }) => inside.has(node))) return place;
    if (place > end && signed[place].hash < signed[end].hash) end = place;
    inside.add(nodes[place]);
  }
  return end;
}

/** True for a node with so many inputs and outputs that their number probably changes: a list of any length. */
function isWide({ types }: Signature): boolean {
  return types.length > sizes.wide;
}

/** Marks in keys, beside numbers from 0 on. */
const marks = { constant: -1, parameter: -2, value: -3, known: -4, outputs: -5 };

function segmentFrom(
  nodes: readonly Node[],
  signed: readonly Signature[],
  escaping: ReadonlySet<Value>,
  signatures: Signatures,
): Segment {
  const inside = new Map<Node, number>();
  const all: Node[] = [];
  const outside = new Map<Value, number>();
  const key: number[] = [];
  const add = (node: Node, { number }: Signature) => {
    key.push(number);
    for (const input of node.inputs) addEdge(input);
    inside.set(node, all.length);
    all.push(node);
  };
  const addEdge = (value: Value) => {
    const { node, index } = value;
    const place = inside.get(node);
    if (place !== undefined) key.push(place, index);
    else if (isNode(node, 'Constant')) {
      key.push(marks.constant);
      add(node, signatures.of(node)!);
    } else addOutside(value);
  };
  const addOutside = (value: Value) => {
    const known = outside.get(value);
    if (known === undefined) {
      outside.set(value, outside.size);
      // A program may prepare a parameter once for many runs.
      key.push(isParameter(value.node) ? marks.parameter : marks.value);
    } else key.push(marks.known, known);
  };
  for (const [place, node] of nodes.entries()) add(node, signed[place]);
  key.push(marks.outputs);
  const outputs: Value[] = [];
  for (const node of nodes) {
    for (const output of node.outputs) {
      if (!escaping.has(output)) continue;
      outputs.push(output);
      key.push(inside.get(node)!, output.index);
    }
  }
  return { key: new SegmentKey(key), nodes: all, inputs: [...outside.keys()], outputs };
}

function isParameter(node: Node): boolean {
  return isNode(node, 'Input') && node.attributes.source.parameter !== undefined;
}
