import { ArgumentError, ShapeError } from '../../errors.ts';
import { describeType, sizeOf } from '../../graph/node.ts';
import { holdMembers } from '../../nn/attributes.ts';
import { Module } from '../../nn/module.ts';
import { Tensor } from '../../tensor.ts';
import { OperatorCall } from './call.ts';
import { asTensor, type ConstantArray, type Operand } from './constant-array.ts';
import type { OnnxGraph, OnnxInput, OnnxModel, OnnxNode } from './decode.ts';
import { foldingRules } from './folding.ts';
import { operandsOf, type IsParameter } from './initializers.ts';
import { operatorRules } from './operators/index.ts';

/** What {@link OnnxModule.forward} returns: the model's output, or all of them by their names. */
export type OnnxOutput = Tensor | Readonly<Record<string, Tensor>>;

/** Larger constants are computed by the graph. */
const maxFoldedElements = 4096;

/**
 * An imported ONNX model as a module. Its parameters and buffers have the names of the model's initializers, such as
 * `conv1.weight`. Only `importOnnx` makes one.
 */
export class OnnxModule<Output extends OnnxOutput = Tensor> extends Module {
  readonly #model: OnnxModel;
  readonly #initial: ReadonlyMap<string, Operand>;

  /** @internal */
  constructor(model: OnnxModel, isParameter: IsParameter | undefined) {
    super();
    this.#model = model;
    this.#initial = operandsOf(model, isParameter);
    holdMembers(this, new Map([...this.#initial].filter(([, operand]) => operand instanceof Tensor)));
  }

  /** The inputs of `forward` in their order. */
  get inputs(): readonly OnnxInput[] {
    return this.#model.graph.inputs;
  }

  /** Names of the outputs. */
  get outputNames(): readonly string[] {
    return this.#model.graph.outputs;
  }

  /**
   * Computes the output, or an object of all outputs if there are several. In training mode, batch normalization uses the
   * batch's statistics and updates the running ones, and dropout drops elements, whatever mode the model was exported in.
   *
   * @throws ShapeError for inputs of another number, dtype or number of dimensions
   */
  forward(...inputs: readonly Tensor[]): Output {
    this.#requireInputs(inputs);
    const { graph } = this.#model;
    const scope = new Map<string, Operand>(this.#initial);
    for (const [index, { name }] of graph.inputs.entries()) scope.set(name, inputs[index]);
    this.#compute(graph, scope);
    const outputs = graph.outputs.map((name) => [name, asTensor(found(scope, name))] as const);
    return (outputs.length === 1 ? outputs[0][1] : Object.fromEntries(outputs)) as Output;
  }

  #compute(graph: OnnxGraph, scope: Map<string, Operand>): void {
    for (const node of graph.nodes) {
      if (scope.has(node.outputs[0])) continue;
      const operands = node.inputs.map((name) => (name === '' ? undefined : found(scope, name)));
      const results = node.op === 'If' ? this.#branch(node, operands, scope) : this.#apply(node, operands);
      for (const [index, name] of node.outputs.entries()) {
        const result = results.at(index);
        if (result !== undefined && index < results.length) scope.set(name, result);
      }
    }
  }

  #apply(node: OnnxNode, operands: readonly (Operand | undefined)[]): readonly Operand[] {
    const call = new OperatorCall(node, operands, { opset: this.#model.opset, training: this.training });
    const fold = foldingRules[node.op] as (typeof foldingRules)[string] | undefined;
    if (fold && operands.length > 0 && operands.every(isFoldable)) {
      return [
        fold(
          call,
          operands.filter((operand) => operand !== undefined),
        ),
      ];
    }
    const rule = operatorRules[node.op] as (typeof operatorRules)[string] | undefined;
    if (rule === undefined) throw call.error('its inputs must follow from shapes and constants');
    const result = rule(call);
    return Array.isArray(result) ? (result as readonly Operand[]) : [result as Operand];
  }

  #branch(
    node: OnnxNode,
    operands: readonly (Operand | undefined)[],
    scope: ReadonlyMap<string, Operand>,
  ): readonly Operand[] {
    const call = new OperatorCall(node, operands, { opset: this.#model.opset, training: this.training });
    const branch = call.graph(call.number(0) ? 'then_branch' : 'else_branch')!;
    const inside = new Map<string, Operand>([...scope, ...branch.initializers]);
    this.#compute(branch, inside);
    return branch.outputs.map((name) => found(inside, name));
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

/** True for inputs that are left out, and for constants that are worth to compute at once. */
function isFoldable(operand: Operand | undefined): operand is ConstantArray | undefined {
  if (operand === undefined) return true;
  return !(operand instanceof Tensor) && sizeOf(operand.shape) <= maxFoldedElements;
}

function found(scope: ReadonlyMap<string, Operand>, name: string): Operand {
  const operand = scope.get(name);
  if (operand === undefined) {
    throw new ArgumentError(
      `forward: the imported model reads '${name}', which none of its operators computes.`,
    );
  }
  return operand;
}

function describeInput({ name, dtype, shape }: OnnxInput): string {
  return `${name} ${dtype ?? 'any dtype'}[${shape ? shape.map((size) => size ?? '?').join() : '…'}]`;
}
