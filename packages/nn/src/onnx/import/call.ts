import { ArgumentError } from '../../errors.ts';
import { asTensor, type ConstantArray, type Operand } from './constant-array.ts';
import { Tensor } from '../../tensor.ts';
import type { OnnxGraph, OnnxNode } from './decode.ts';

/** One node of a model while it is traced. */
export class OperatorCall {
  readonly node: OnnxNode;
  /** Version of the standard operators. */
  readonly opset: number;
  /** True if the module is in training mode. */
  readonly training: boolean;
  readonly operands: readonly (Operand | undefined)[];

  constructor(
    node: OnnxNode,
    operands: readonly (Operand | undefined)[],
    { opset, training }: { readonly opset: number; readonly training: boolean },
  ) {
    this.node = node;
    this.operands = operands;
    this.opset = opset;
    this.training = training;
  }

  /** An input that the operator requires. */
  tensor(index: number): Tensor {
    return asTensor(this.operand(index));
  }

  /** An input that may be left out. */
  optional(index: number): Tensor | undefined {
    const operand = this.operands.at(index);
    return operand && asTensor(operand);
  }

  /** All inputs. */
  tensors(): Tensor[] {
    return this.operands.map((_, index) => this.tensor(index));
  }

  operand(index: number): Operand {
    const operand = this.operands.at(index);
    if (operand === undefined) throw this.error(`input ${index} is missing`);
    return operand;
  }

  /** The numbers of an input that must be known before the graph runs, such as a shape; undefined if it is left out. */
  numbers(index: number): number[] | undefined {
    const operand = this.operands.at(index);
    if (operand === undefined) return undefined;
    if (operand instanceof Tensor) {
      throw this.error(`input ${index} must follow from shapes and constants, but it depends on elements`);
    }
    return Array.from(operand.data);
  }

  /** Like `numbers`, of one number. */
  number(index: number): number | undefined {
    return this.numbers(index)?.[0];
  }

  int(name: string, otherwise: number): number {
    const content = this.node.attributes.get(name);
    return typeof content === 'number' ? content : otherwise;
  }

  float(name: string, otherwise: number): number {
    return this.int(name, otherwise);
  }

  string(name: string, otherwise: string): string {
    const content = this.node.attributes.get(name);
    return typeof content === 'string' ? content : otherwise;
  }

  ints(name: string): readonly number[] | undefined {
    const content = this.node.attributes.get(name);
    return Array.isArray(content) ? (content as readonly number[]) : undefined;
  }

  /** A list that older versions of the operator have as an attribute, and newer ones as an input. */
  list(name: string, index: number): readonly number[] | undefined {
    return this.ints(name) ?? this.numbers(index);
  }

  array(name: string): ConstantArray | undefined {
    const content = this.node.attributes.get(name);
    return typeof content === 'object' && 'data' in content ? content : undefined;
  }

  graph(name: string): OnnxGraph | undefined {
    const content = this.node.attributes.get(name);
    return typeof content === 'object' && 'nodes' in content ? content : undefined;
  }

  error(problem: string): ArgumentError {
    return new ArgumentError(`${this.node.op} (${this.node.name}) of the imported model: ${problem}.`);
  }
}

/** Computes the outputs of a node. Outputs that are never read may be left out. */
export type OperatorRule = (call: OperatorCall) => Operand | readonly Operand[];

/** Rules by ONNX's names of operators. */
export type OperatorRules = Readonly<Record<string, OperatorRule>>;
