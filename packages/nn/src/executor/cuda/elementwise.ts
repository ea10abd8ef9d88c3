import type { GpuAddress } from '@ringrun/native';
import { isNode, type Node, type Value } from '../../graph/node.ts';
import { sizeOf } from '../../value-type.ts';
import { memoryTypes, registerTypes } from './element-types.ts';
import { expressionsOf, isElementwise, literalOf } from './elementwise-operators.ts';
import { broadcastStrides, mergedAxes, positionOf, type Store } from './generated.ts';
import type { Lowering } from './lowering.ts';
import { isView, unwidened, viewedValue } from './views.ts';

/** Statements that compute element `i` of arrays. */
export interface ElementwiseProgram {
  /** Number of elements. */
  readonly count: number;
  readonly parameters: readonly ArrayParameter[];
  /** One for each of the parameters. */
  readonly addresses: readonly GpuAddress[];
  /** Load and compute, into variables. */
  readonly body: string;
  /** Variables that are stored afterwards: no element reads what another one stores. */
  readonly stores: readonly Store[];
}

export interface ArrayParameter {
  /** Of a pointer to the elements: `const float*`. */
  readonly type: string;
  readonly name: string;
}

/** The program of a group of elementwise nodes of one number of elements. */
export function elementwiseProgram(
  nodes: readonly Node[],
  lowering: Pick<Lowering, 'at' | 'isRead'>,
): ElementwiseProgram {
  const statements = new ElementwiseStatements(nodes, lowering);
  for (const node of nodes) if (isElementwise(node)) statements.compute(node);
  return statements.program();
}

/** The values that a group reads in memory. */
export function readsOfElementwise(nodes: readonly Node[]): readonly Value[] {
  const members = new Set(nodes);
  return operandsOf(nodes, members).filter(
    (value) => !members.has(value.node) && literalOfValue(value) === undefined,
  );
}

/** What the expressions of a group read, in memory or in variables. */
function operandsOf(nodes: readonly Node[], members: ReadonlySet<Node>): readonly Value[] {
  return nodes.filter(isElementwise).flatMap(({ inputs }) => inputs.map((input) => sourceOf(input, members)));
}

class ElementwiseStatements {
  readonly #lowering: Pick<Lowering, 'at' | 'isRead'>;
  readonly #members: ReadonlySet<Node>;
  readonly #nodes: readonly Node[];
  /** Values that expressions read. */
  readonly #used: ReadonlySet<Value>;
  readonly #count: number;
  readonly #parameters: ArrayParameter[] = [];
  readonly #addresses: GpuAddress[] = [];
  readonly #lines: string[] = [];
  /** Variables of computed values. */
  readonly #computed = new Map<Value, string>();
  /** Parameters of addresses, and variables of loaded elements. */
  readonly #known = new Map<string, string>();

  constructor(nodes: readonly Node[], lowering: Pick<Lowering, 'at' | 'isRead'>) {
    this.#lowering = lowering;
    this.#nodes = nodes;
    this.#members = new Set(nodes);
    this.#used = new Set(operandsOf(nodes, this.#members));
    this.#count = sizeOf(nodes[0].outputs[0].shape);
  }

  compute(node: Node): void {
    const operands = node.inputs.map((input) => this.#operand(input, node.outputs[0].shape));
    for (const [index, expression] of expressionsOf(node, operands).entries()) {
      const output = node.outputs[index];
      // The second output of Relu is for its gradient. NVRTC warns about variables that nothing reads.
      if (!this.#used.has(output) && !this.#lowering.isRead(output)) continue;
      const name = `v${this.#computed.size}`;
      this.#lines.push(`  const ${registerTypes[output.dtype]} ${name} = ${expression};`);
      this.#computed.set(output, name);
    }
  }

  program(): ElementwiseProgram {
    const stores: Store[] = [];
    for (const output of this.#nodes.flatMap(({ outputs }) => outputs)) {
      const name = this.#computed.get(output);
      if (name === undefined || !this.#lowering.isRead(output)) continue;
      stores.push({
        target: `${this.#parameter(output, '')}[i]`,
        name,
        type: registerTypes[output.dtype],
      });
    }
    const body = this.#lines.join('\n');
    return { count: this.#count, parameters: this.#parameters, addresses: this.#addresses, body, stores };
  }

  #operand(input: Value, shape: readonly number[]): string {
    const source = sourceOf(input, this.#members);
    const literal = literalOfValue(source);
    if (literal !== undefined) return literal;
    return this.#computed.get(source) ?? this.#loaded(source, input.shape, shape);
  }

  /** The element of a value in memory, which is repeated to a shape. */
  #loaded(source: Value, own: readonly number[], shape: readonly number[]): string {
    const strides = broadcastStrides(own, shape);
    const axes = mergedAxes(shape.map((size, axis) => ({ size, strides: [strides[axis]] })));
    const element = `${this.#parameter(source, 'const ')}[${positionOf(axes, 0)}]`;
    const known = this.#known.get(element);
    if (known !== undefined) return known;
    const name = `x${this.#known.size}`;
    this.#lines.push(`  const ${registerTypes[source.dtype]} ${name} = ${element};`);
    this.#known.set(element, name);
    return name;
  }

  #parameter(value: Value, qualifier: 'const ' | ''): string {
    const address = this.#lowering.at(value);
    const key = `${qualifier}${JSON.stringify(address)}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const name = `${qualifier === '' ? 'to' : 'from'}${this.#parameters.length}`;
    this.#parameters.push({ type: `${qualifier}${memoryTypes[value.dtype]}*`, name });
    this.#addresses.push(address);
    this.#known.set(key, name);
    return name;
  }
}

/** The value that a kernel reads for another one: the one of which it is a view within the group, before it was widened. */
function sourceOf(value: Value, members: ReadonlySet<Node>): Value {
  let source = value;
  while (members.has(source.node) && isView(source.node)) [source] = source.node.inputs;
  return members.has(source.node) ? source : unwidened(source);
}

/** A number that is part of the program. */
function literalOfValue(value: Value): string | undefined {
  const { node, dtype } = viewedValue(value);
  if (!isNode(node, 'Constant') || node.attributes.values.length !== 1) return undefined;
  return literalOf(node.attributes.values[0], dtype);
}
