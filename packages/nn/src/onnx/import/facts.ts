import { ArgumentError } from '../../errors/errors.ts';
import type { BoundGraph, BoundNode } from './bind.ts';
import { nodeError } from './call.ts';
import type { ConstantArray } from './constant-array.ts';
import { dtypeOf, isWideFloat, type ElementType } from './element-type.ts';
import { inputsOf, outputTypesOf, requireOutputs, typesOf } from './node-types.ts';
import type { NodeFacts } from './specification.ts';

/** Facts about a value of a model that are known before any `forward`. */
export interface Fact {
  readonly name: string;
  /** Undefined: the model does not specify it. */
  readonly type: ElementType | undefined;
  /** An input of the model, an array of the file, or the node that computes it. */
  readonly origin: 'input' | ConstantArray | BoundNode;
  /** Inputs of the node that computes it, and the values from which a branch selects one. */
  readonly inputs: readonly (Fact | undefined)[];
}

/** An input of a node that must be known before the graph runs. */
export interface Need {
  readonly fact: Fact;
  readonly node: BoundNode;
  /** The node's expectation, for messages. */
  readonly expected: string;
  /** False if it must follow from arrays of the file. */
  readonly mayBeInput: boolean;
}

/** A value that a node computes with. */
export interface Read {
  readonly fact: Fact;
  readonly node: BoundNode;
}

/** The results of a walk through a model. */
export interface Facts {
  /** Facts about arrays, inputs and values of the outer graph, by their names. */
  readonly values: ReadonlyMap<string, Fact>;
  /** Element types of the outputs of each node. */
  readonly types: ReadonlyMap<BoundNode, readonly (ElementType | undefined)[]>;
  readonly needs: readonly Need[];
  /** Facts about values that need not be known. */
  readonly reads: readonly Read[];
}

interface Walk {
  readonly types: Map<BoundNode, readonly (ElementType | undefined)[]>;
  readonly needs: Need[];
  readonly reads: Read[];
}

/**
 * Derives the element types of all values, and finds the values that must be known before the graph runs.
 *
 * @throws ArgumentError for undefined names, wrong numbers of inputs or outputs, and wrong element types
 */
export function factsOf(bound: BoundGraph): Facts {
  const walk: Walk = { types: new Map(), needs: [], reads: [] };
  const values = walkGraph(bound, new Map(), walk);
  for (const name of bound.graph.outputs) requireTensor(`the output ${name}`, values.get(name)!.type);
  for (const [index, { name }] of bound.graph.inputs.entries()) {
    requireTensor(`the input ${name}`, bound.graph.inputTypes[index]);
  }
  return { values, types: walk.types, needs: walk.needs, reads: walk.reads };
}

function walkGraph(
  { graph, nodes }: BoundGraph,
  outer: ReadonlyMap<string, Fact>,
  walk: Walk,
): Map<string, Fact> {
  const facts = new Map(outer);
  for (const [name, array] of graph.initializers) {
    facts.set(name, { name, type: array.type, origin: array, inputs: [] });
  }
  for (const [index, { name }] of graph.inputs.entries()) {
    facts.set(name, { name, type: graph.inputTypes[index], origin: 'input', inputs: [] });
  }
  for (const node of nodes) {
    for (const fact of walkNode(node, facts, walk)) facts.set(fact.name, fact);
  }
  for (const name of graph.outputs) {
    if (facts.has(name)) continue;
    throw new ArgumentError(
      `importOnnx: expected an operator that computes the output ${name}, got none. The model is damaged.`,
    );
  }
  return facts;
}

function walkNode(node: BoundNode, facts: ReadonlyMap<string, Fact>, walk: Walk): Fact[] {
  const { specification, attributes, opset } = node;
  const inputs = node.inputs.map((name) => {
    if (name === '') return undefined;
    const fact = facts.get(name);
    if (fact) return fact;
    throw nodeError('importOnnx', node, `expected an operator before it that computes '${name}', got none`);
  });
  const declared = inputsOf(node);
  requireOutputs(node);
  const inputTypes = inputs.map((fact) => fact?.type);
  const types = typesOf(node, inputTypes);
  const branches = node.branches.map((branch) => {
    const inside = walkGraph(branch, facts, walk);
    return branch.graph.outputs.map((name) => inside.get(name)!);
  });
  const outputTypes = outputTypesOf(node, types, branches);
  walk.types.set(node, outputTypes);
  const nodeFacts: NodeFacts<Readonly<Record<string, unknown>>> = {
    attributes,
    opset,
    dtype: (index) => {
      const type = inputTypes.at(index);
      return type && dtypeOf(type);
    },
    isGiven: (index) => inputs.at(index) !== undefined,
    isInput: (index) => inputs.at(index)?.origin === 'input',
    isRead: (output) => node.reads[output] ?? false,
    constant: (index) => constantOf(inputs.at(index)),
  };
  const problem = specification.refuse?.(nodeFacts);
  if (problem) throw nodeError('importOnnx', node, problem);
  const isWide = [...inputTypes, ...outputTypes].some((type) => type && isWideFloat(type));
  const needed = specification.needs?.(nodeFacts) ?? [];
  for (const [index, fact] of inputs.entries()) {
    if (fact === undefined) continue;
    if (specification.isShape) continue;
    const { name, isKnown } = declared[index];
    if (isKnown || needed.includes(index) || specification.compute === undefined) {
      const expected = `an input ${name} that follows from shapes and constants`;
      walk.needs.push({ fact, node, expected, mayBeInput: true });
    } else if (isWide) {
      // Constants are computed in the full precision of their type.
      walk.needs.push({ fact, node, expected: 'float32 or constants', mayBeInput: false });
    } else {
      walk.reads.push({ fact, node });
    }
  }
  return node.outputs.flatMap((name, index) => {
    if (name === '') return [];
    const choices = branches.map((outputs) => outputs[index]);
    return [{ name, type: outputTypes[index], origin: node, inputs: [...inputs, ...choices] }];
  });
}

/** The file's array for a value, if it is one. */
function constantOf(fact: Fact | undefined): ConstantArray | undefined {
  if (fact === undefined || fact.origin === 'input') return undefined;
  if (!('specification' in fact.origin)) return fact.origin;
  const { value } = fact.origin.attributes;
  return fact.origin.op === 'Constant' ? (value as ConstantArray | undefined) : undefined;
}

function requireTensor(what: string, type: ElementType | undefined): void {
  if (type === undefined || !isWideFloat(type)) return;
  throw new ArgumentError(
    `importOnnx: expected float32, integers or bool in ${what}, got ${type}. Pass { toFloat32: true } to compute the model in float32.`,
  );
}
