import { ArgumentError, ShapeError } from '../../errors/errors.ts';
import { asTensor, numbersOf, type Operand } from './constant-array.ts';
import { Tensor } from '../../tensor/tensor.ts';

/** The information about a node that its operator receives. */
export interface CalledNode {
  readonly op: string;
  /** For messages. */
  readonly name: string;
  readonly opset: number;
  readonly outputs: readonly string[];
  /** For each output, true if another node reads it or it is an output of the model. */
  readonly reads: readonly boolean[];
  /** The node's attributes, with defaults for the others. */
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** One node of a model while it is traced. */
export class OperatorCall<Attributes> {
  readonly node: CalledNode;
  /** All attributes of the operator in this opset; attributes of other opsets have their defaults. */
  readonly attributes: Attributes;
  /** True if the module is in training mode. */
  readonly training: boolean;
  readonly operands: readonly (Operand | undefined)[];

  constructor(node: CalledNode, operands: readonly (Operand | undefined)[], training: boolean) {
    this.node = node;
    this.attributes = node.attributes as Attributes;
    this.operands = operands;
    this.training = training;
  }

  /** Version of the standard operators. */
  get opset(): number {
    return this.node.opset;
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
    if (operand === undefined) throw this.error(`expected input ${index}, got none`);
    return operand;
  }

  /** The numbers of an input that must be known before the graph runs, such as a shape; undefined if it is left out. */
  numbers(index: number): number[] | undefined {
    const operand = this.operands.at(index);
    if (operand === undefined) return undefined;
    if (operand instanceof Tensor) {
      throw this.error(`expected an input ${index} that follows from shapes and constants, got elements`);
    }
    return numbersOf(operand);
  }

  /** Like `numbers`, of one number. */
  number(index: number): number | undefined {
    return this.numbers(index)?.[0];
  }

  /** The error for a node that the importer cannot compute for any input sizes. */
  error(problem: string): ArgumentError {
    return nodeError('forward', this.node, problem);
  }

  /** The error for sizes that do not fit. */
  mismatch(problem: string): ShapeError {
    const { op, name } = this.node;
    return new ShapeError(`forward: ${op} (node ${name}) of the imported model: ${problem}.`);
  }
}

/** An error about a node of a model: the expected and the actual. */
export function nodeError(
  where: string,
  { op, name, opset }: Pick<CalledNode, 'op' | 'name' | 'opset'>,
  problem: string,
): ArgumentError {
  return new ArgumentError(
    `${where}: ${op} of opset ${opset} (node ${name}): ${problem}. Export the model without it, or run it with onnxruntime-node.`,
  );
}
