import { ArgumentError, ShapeError } from '../../errors/errors.ts';
import { readElements } from '../../graph/element-checks.ts';
import { describeType, sizeOf } from '../../value-type.ts';
import { holdMembers } from '../../nn/attributes.ts';
import { Module } from '../../nn/module.ts';
import { Tensor } from '../../tensor/tensor.ts';
import type { BoundGraph, BoundNode } from './bind.ts';
import { OperatorCall } from './call.ts';
import {
  asTensor,
  constantArray,
  maxElementsInProgram,
  type ConstantArray,
  type Operand,
} from './constant-array.ts';
import type { OnnxInput } from './decode.ts';
import { isInteger, type ElementType } from './element-type.ts';
import { wrapped } from './operators/integers.ts';

/** Result of {@link OnnxModule.forward}: the model's output, or all outputs by their names. */
export type OnnxOutput = Tensor | Readonly<Record<string, Tensor>>;

/** A validated model, ready for a module to run. */
export interface CheckedModel {
  readonly bound: BoundGraph;
  /** Arrays by their names. */
  readonly operands: ReadonlyMap<string, Operand>;
  /** Element types of the outputs of each node. */
  readonly types: ReadonlyMap<BoundNode, readonly (ElementType | undefined)[]>;
  /** Names of the inputs on which shapes depend. */
  readonly neededInputs: ReadonlySet<string>;
  /** Nodes that are computed before the graph runs. */
  readonly neededNodes: ReadonlySet<BoundNode>;
}

/**
 * An imported ONNX model as a module. Its parameters and buffers have the names of the model's initializers, such as
 * `conv1.weight`. Created by `importOnnx`.
 */
export class OnnxModule<Output extends OnnxOutput = Tensor> extends Module {
  readonly #model: CheckedModel;

  /** @internal */
  constructor(model: CheckedModel) {
    super();
    this.#model = model;
    holdMembers(this, new Map([...model.operands].filter(([, operand]) => operand instanceof Tensor)));
  }

  /** The inputs of `forward` in their order. */
  get inputs(): readonly OnnxInput[] {
    return this.#model.bound.graph.inputs;
  }

  /** Names of the outputs. */
  get outputNames(): readonly string[] {
    return this.#model.bound.graph.outputs;
  }

  /**
   * Computes the output, or an object of all outputs if there are several. In training mode, batch normalization uses the
   * batch's statistics and updates the running ones, and dropout drops elements, regardless of the mode in which the model was
   * exported.
   *
   * @throws ShapeError if inputs differ in number, dtype or dimensions; ArgumentError if an input that determines shapes,
   *   such as the new shape of a Reshape, is the result of operations
   */
  forward(...inputs: readonly Tensor[]): Output {
    this.#requireInputs(inputs);
    const { bound, operands } = this.#model;
    const scope = new Map<string, Operand>(operands);
    for (const [index, { name }] of bound.graph.inputs.entries()) {
      scope.set(name, this.#operandOf(index, inputs[index]));
    }
    this.#compute(bound, scope);
    const outputs = bound.graph.outputs.map((name) => [name, asTensor(scope.get(name)!)] as const);
    return (outputs.length === 1 ? outputs[0][1] : Object.fromEntries(outputs)) as Output;
  }

  #compute({ nodes }: BoundGraph, scope: Map<string, Operand>): void {
    for (const node of nodes) {
      const operands = node.inputs.map((name) => scope.get(name));
      const results =
        node.branches.length > 0 ? this.#branch(node, operands, scope) : this.#apply(node, operands);
      for (const [index, name] of node.outputs.entries()) {
        const result = results.at(index);
        if (result !== undefined && index < results.length) scope.set(name, result);
      }
    }
  }

  #apply(node: BoundNode, operands: readonly (Operand | undefined)[]): readonly Operand[] {
    const call = new OperatorCall<Readonly<Record<string, unknown>>>(node, operands, this.training);
    const { fold, compute, wraps } = node.specification;
    const given = operands.filter((operand) => operand !== undefined);
    const isNeeded = this.#model.neededNodes.has(node) || compute === undefined;
    if (fold && given.every(isConstant) && (isNeeded || given.every(isSmall))) return [fold(call, given)];
    const result = named(call, () => compute!(call));
    const results = Array.isArray(result) ? (result as readonly Operand[]) : [result as Operand];
    if (!wraps) return results;
    const types = this.#model.types.get(node);
    return results.map((one, index) => {
      const type = types?.[index];
      return one instanceof Tensor && type && isInteger(type) ? wrapped(one, type) : one;
    });
  }

  #branch(
    node: BoundNode,
    [condition]: readonly (Operand | undefined)[],
    scope: ReadonlyMap<string, Operand>,
  ): readonly Operand[] {
    const [thenBranch, elseBranch] = node.branches;
    const branch = (condition as ConstantArray).data[0] ? thenBranch : elseBranch;
    const inside = new Map<string, Operand>([...scope, ...branch.graph.initializers]);
    this.#compute(branch, inside);
    return branch.graph.outputs.map((name) => inside.get(name)!);
  }

  /** An input of `forward`, or its elements if shapes depend on them. */
  #operandOf(index: number, input: Tensor): Operand {
    const { name } = this.inputs[index];
    if (!this.#model.neededInputs.has(name)) return input;
    const elements = readElements(input.value);
    if (elements === undefined) {
      throw new ArgumentError(
        `forward: expected an input ${name} that tensor(…) created, because shapes depend on it, got the result of operations. Pass tensor(await x.array(), x.shape).`,
      );
    }
    if (elements.length !== input.numel()) {
      throw new ArgumentError(
        `forward: expected the elements of the input ${name}, because shapes depend on it, got none. A model with such an input cannot be exported.`,
      );
    }
    const type = this.#model.bound.graph.inputTypes[index] ?? input.dtype;
    return constantArray(type, input.shape, elements);
  }

  #requireInputs(given: readonly Tensor[]): void {
    const expected = this.inputs.map(describeInput).join(', ');
    if (given.length !== this.inputs.length) {
      throw new ArgumentError(
        `forward: expected ${this.inputs.length} input(s) of the imported model, ${expected}, got ${given.length}.`,
      );
    }
    for (const [index, { dtype, shape }] of this.inputs.entries()) {
      const input: unknown = given[index];
      const fits =
        input instanceof Tensor &&
        (dtype === undefined || input.dtype === dtype) &&
        (shape === undefined || input.shape.length === shape.length);
      if (fits) continue;
      const got = input instanceof Tensor ? describeType(input) : String(input);
      throw new ShapeError(
        `forward: expected ${describeInput(this.inputs[index])} of the imported model, got ${got}.`,
      );
    }
  }
}

/** Adds the node's name to shape errors. */
function named<Result>(call: OperatorCall<unknown>, compute: () => Result): Result {
  try {
    return compute();
  } catch (error) {
    if (!(error instanceof ShapeError) || error.message.startsWith('forward: ')) throw error;
    throw call.mismatch(error.message.replace(/\.$/, ''));
  }
}

function isConstant(operand: Operand): operand is ConstantArray {
  return !(operand instanceof Tensor);
}

/** True for constants that are worth computing ahead. */
function isSmall({ shape }: ConstantArray): boolean {
  return sizeOf(shape) <= maxElementsInProgram;
}

function describeInput({ name, dtype, shape }: OnnxInput): string {
  return `${name} ${dtype ?? 'any dtype'}[${shape ? shape.map((size) => size ?? '?').join() : '…'}]`;
}
