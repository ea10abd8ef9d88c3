import type { ElementwiseProgram } from '../../graph/attributes.ts';
import { createNode, isNode, type Node, type Value } from '../../graph/node.ts';
import { isSameSequence } from '../../graph/same-data.ts';
import { topologicalOrder } from '../../graph/topology.ts';
import { fitsProgram, inArgumentOrder } from '../../ops/elementwise-program.ts';
import { viewed } from '../../ops/shape.ts';
import { sizeOf } from '../../value-type.ts';
import { Readers } from '../../compiler/readers.ts';

type Product = Node<'MatrixProduct'>;
type Program = Node<'Elementwise'>;

/**
 * Makes elementwise programs that read a matrix product part of it: bias, activation, residual, scale, the sum with another
 * product, and their gradients cost no pass over memory. Results are bit-identical. Call it after `fuseProducts` and
 * `fuseElementwise`.
 */
export function fuseEpilogues(
  outputs: readonly Value[],
  isWorthIt: (product: Product, program: Program) => boolean = () => true,
): Value[] {
  const order = topologicalOrder(outputs);
  if (!order.some((node) => isNode(node, 'MatrixProduct'))) return [...outputs];
  const graph = new Views(order, outputs);
  const programs = new Map<Product, Program>();
  const products = new Map<Program, Product>();
  for (const node of order.filter((one) => isNode(one, 'Elementwise'))) {
    const product = graph.productOf(node, (one) => programs.has(one) || !isWorthIt(one, node));
    if (product === undefined) continue;
    programs.set(product, node);
    products.set(node, product);
  }
  const replaced = new Map<Value, Value>();
  const current = (value: Value): Value => replaced.get(value) ?? value;
  const fuse = (product: Product, program: Program) => {
    for (const [value, by] of fused(product, program, graph, current)) replaced.set(value, by);
  };
  for (const node of order) {
    if (replaced.has(node.outputs[0])) continue;
    const program = isNode(node, 'MatrixProduct') ? programs.get(node) : undefined;
    if (program) {
      if (graph.mayRunWith(node as Product, program)) fuse(node as Product, program);
      continue;
    }
    const product = isNode(node, 'Elementwise') ? products.get(node) : undefined;
    if (product) {
      fuse(product, node as Program);
      continue;
    }
    const inputs = node.inputs.map(current);
    if (isSameSequence(inputs, node.inputs)) continue;
    const made = createNode(node.op, inputs, node.attributes, node.outputs);
    for (const [index, output] of made.outputs.entries()) replaced.set(node.outputs[index], output);
  }
  return outputs.map(current);
}

/**
 * False for programs whose calls for the rows of a block take longer than a pass over memory would: beside a product in bfloat16,
 * all without GELU. A step of four layers of nn.TransformerEncoderLayer, 384 wide, in bfloat16 takes 322 to 329 ms of processor
 * time with them and 278 to 298 without (Zen 5, busy machine, 27 November 2026).
 */
export function paysOff({ attributes }: Product, program: Program): boolean {
  return !attributes.inBfloat16 || program.attributes.instructions.some(({ op }) => op.includes('Gelu'));
}

/** Readers through Reshapes, which only rename values. */
class Views extends Readers {
  /** The last product that a program can be part of. */
  productOf(program: Program, isTaken: (product: Product) => boolean): Product | undefined {
    const size = sizeOf(program.outputs[0].shape);
    const candidates = program.inputs
      .map((input) => viewed(input).node)
      .filter((node): node is Product => isNode(node, 'MatrixProduct'))
      .filter((node) => !node.attributes.sums && !isTaken(node) && sizeOf(node.outputs[0].shape) === size)
      .filter((node) => hasWholeRows(node, program) && fits(node, program, this.isReadBesides(node, program)))
      .filter((node) => !this.isReadBesides(node, program) || this.mayRunWith(node, program));
    return candidates.reduce<Product | undefined>(
      (last, node) => (last === undefined || this.isBefore(last, node) ? node : last),
      undefined,
    );
  }

  /** True if all other inputs of the program are known before the product. */
  mayRunWith(product: Product, program: Program): boolean {
    return program.inputs.every(
      (input) => viewed(input).node === product || this.isKnownBefore(input, product),
    );
  }

  /** True if the product is read by another node than the program, or is an output. */
  isReadBesides(product: Product, program: Program): boolean {
    const pending = [...product.outputs];
    for (let value = pending.pop(); value !== undefined; value = pending.pop()) {
      if (this.isOutput(value)) return true;
      for (const reader of this.of(value)) {
        if (isNode(reader, 'Reshape')) pending.push(...reader.outputs);
        else if (reader !== program) return true;
      }
    }
    return false;
  }
}

/** True if arrays that are repeated have whole rows of the product. */
function hasWholeRows(product: Product, program: Program): boolean {
  const columns = product.outputs[0].shape.at(-1)!;
  return program.inputs.every(({ shape }) => sizeOf(shape) === 1 || sizeOf(shape) % columns === 0);
}

function fits(product: Product, program: Program, isRead: boolean): boolean {
  const { inputs, outputs } = arraysOf(product, program, isRead);
  return fitsProgram(inputs) && fitsProgram(outputs);
}

function arraysOf(product: Product, program: Program, isRead: boolean) {
  const inputs = program.inputs.filter((input) => viewed(input).node !== product);
  const outputs = inArgumentOrder([...program.outputs, ...(isRead ? product.outputs : [])]);
  return { inputs, outputs };
}

/** The values that the product with its program replaces. */
function fused(
  product: Product,
  program: Program,
  graph: Views,
  current: (value: Value) => Value,
): readonly (readonly [Value, Value])[] {
  const { inputs, outputs } = arraysOf(product, program, graph.isReadBesides(product, program));
  const own = product.inputs.map(current);
  const made = createNode(
    'MatrixProduct',
    [...own, ...inputs.map(current)],
    { ...product.attributes, program: epilogueOf(product, program, inputs, outputs) },
    outputs,
  );
  return outputs.map((value, index) => [value, made.outputs[index]] as const);
}

/** The program with the product as the last input, rounded as if it had been stored. */
function epilogueOf(
  product: Product,
  program: Program,
  inputs: readonly Value[],
  outputs: readonly Value[],
): ElementwiseProgram {
  const [result] = product.outputs;
  const rounding = result.dtype === 'bfloat16' ? [{ op: 'Round' as const, operands: [inputs.length] }] : [];
  const ofProduct = inputs.length + rounding.length;
  const before = program.inputs.length;
  const renumbered = (value: number): number => {
    if (value >= before) return ofProduct + 1 + (value - before);
    const input = program.inputs[value];
    return viewed(input).node === product ? ofProduct : inputs.indexOf(input);
  };
  const { instructions, results } = program.attributes;
  const resultOf = (value: Value) =>
    value === result ? ofProduct : renumbered(results[program.outputs.indexOf(value)]);
  return {
    instructions: [
      ...rounding,
      ...instructions.map(({ op, operands }) => ({ op, operands: operands.map(renumbered) })),
    ],
    results: outputs.map(resultOf),
  };
}
