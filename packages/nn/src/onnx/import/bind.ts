import { ArgumentError } from '../../errors/errors.ts';
import { attributeTypeCode } from '../../onnx-format/type-codes.ts';
import { nodeError, type CalledNode } from './call.ts';
import type { AttributeContent, OnnxGraph, OnnxNode } from './decode.ts';
import { namesIn } from './names.ts';
import { operatorTable } from './operators/index.ts';
import { existsIn, type AttributeSpecification, type OperatorSpecification } from './specification.ts';

/** The opsets that the importer supports. */
export const opsets = { first: 7, last: 28 } as const;

/** A node with the specification of its operator in the model's opset. */
export interface BoundNode extends CalledNode {
  /** '' for inputs that are left out. */
  readonly inputs: readonly string[];
  readonly specification: OperatorSpecification;
  /** The branches of an If, which are attributes as well. */
  readonly branches: readonly BoundGraph[];
}

/** A graph whose nodes are all known to the importer. */
export interface BoundGraph {
  readonly graph: OnnxGraph;
  readonly nodes: readonly BoundNode[];
}

/**
 * Binds each node of a graph to its operator's specification.
 *
 * @throws ArgumentError for an opset, operators, attributes or contents of attributes that the importer does not handle
 */
export function bindGraph(graph: OnnxGraph, opset: number): BoundGraph {
  if (opset < opsets.first || opset > opsets.last) {
    throw new ArgumentError(
      `importOnnx: expected a model of opset ${opsets.first} to ${opsets.last}, got opset ${opset}. Export it with another opset_version.`,
    );
  }
  requireOperators(graph, opset);
  return boundGraph(graph, opset, namesIn(graph));
}

function boundGraph(graph: OnnxGraph, opset: number, reads: ReadonlySet<string>): BoundGraph {
  return { graph, nodes: graph.nodes.map((node) => boundNode(node, opset, reads)) };
}

function boundNode(node: OnnxNode, opset: number, reads: ReadonlySet<string>): BoundNode {
  const { op, name } = node;
  const specification = specificationOf(op, opset)!;
  const failure = (problem: string) => nodeError('importOnnx', { op, name, opset }, problem);
  const declared = Object.entries(specification.attributes).filter(([, one]) => existsIn(opset, one));
  const known = new Map(declared);
  for (const [attribute, { type, content }] of node.attributes) {
    const expected = known.get(attribute);
    if (expected === undefined) {
      const names = [...known.keys()].join(', ') || 'none';
      throw failure(`expected the attributes ${names}, got ${attribute} = ${describeContent(content)}`);
    }
    const problem = problemOf(expected, type, content);
    if (problem) throw failure(`expected the attribute ${attribute} to be ${problem}`);
  }
  const missing = declared.find(
    ([attribute, { isRequired }]) => isRequired && !node.attributes.has(attribute),
  );
  if (missing) throw failure(`expected the attribute ${missing[0]}, got none`);
  const attributes = Object.fromEntries(
    Object.entries(specification.attributes).map(([attribute, { otherwise }]) => [
      attribute,
      node.attributes.get(attribute)?.content ?? otherwise,
    ]),
  );
  const branches = Object.values(attributes).filter(isGraph);
  return {
    ...{ op, name, opset, inputs: node.inputs, outputs: node.outputs, specification, attributes },
    reads: node.outputs.map((output) => reads.has(output)),
    branches: branches.map((branch) => boundGraph(branch, opset, reads)),
  };
}

/** Describes how an attribute differs from its specification; undefined if it fits. */
function problemOf(
  { type, accepts }: AttributeSpecification<unknown>,
  code: number,
  content: AttributeContent | undefined,
): string | undefined {
  if (accepts?.length === 0) return `left out, got ${describeContent(content)}`;
  if (code !== attributeTypeCode[type] || content === undefined) {
    const got = Object.entries(attributeTypeCode).find(([, one]) => one === code)?.[0] ?? `type ${code}`;
    return `of ONNX's type ${type}, got ${got}`;
  }
  if (accepts === undefined || accepts.includes(content)) return undefined;
  return `${accepts.map((one) => JSON.stringify(one)).join(' or ')}, got ${describeContent(content)}`;
}

function describeContent(content: AttributeContent | undefined): string {
  if (content === undefined) return 'a content that ringrun does not support';
  if (typeof content !== 'object' || Array.isArray(content)) return JSON.stringify(content);
  return isGraph(content) ? 'a graph' : 'a tensor';
}

function isGraph(content: unknown): content is OnnxGraph {
  return typeof content === 'object' && content !== null && 'nodes' in content;
}

/** The specification of an operator in an opset; undefined if the importer does not support it. */
export function specificationOf(op: string, opset: number): OperatorSpecification | undefined {
  const versions = Object.hasOwn(operatorTable, op) ? operatorTable[op] : [];
  return versions.findLast((version) => existsIn(opset, version));
}

function requireOperators(graph: OnnxGraph, opset: number): void {
  const counts = new Map<string, number>();
  for (const name of unsupportedIn(graph, opset)) counts.set(name, (counts.get(name) ?? 0) + 1);
  if (counts.size === 0) return;
  const list = [...counts].map(([name, count]) => (count > 1 ? `${name} (${count} nodes)` : name)).join(', ');
  throw new ArgumentError(
    `importOnnx: expected operators that ringrun can train, got ${counts.size} other(s): ${list}. Export the model without them, or run it with onnxruntime-node.`,
  );
}

function unsupportedIn({ nodes }: OnnxGraph, opset: number): string[] {
  return nodes.flatMap(({ op, domain, attributes }) => {
    if (domain !== '') return [`${domain}.${op}`];
    if (!Object.hasOwn(operatorTable, op)) return [op];
    if (specificationOf(op, opset) === undefined) return [`${op} of opset ${opset}`];
    return [...attributes.values()].flatMap(({ content }) =>
      isGraph(content) ? unsupportedIn(content, opset) : [],
    );
  });
}
