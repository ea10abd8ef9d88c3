import { BufferTensor } from '../../buffer-tensor.ts';
import { sizeOf } from '../../graph/node.ts';
import { Parameter } from '../../parameter.ts';
import type { ConstantArray, Operand } from './constant-array.ts';
import type { OnnxGraph, OnnxModel } from './decode.ts';

/** Decides if an array of a model is trained. */
export type IsParameter = (name: string, shape: readonly number[]) => boolean;

/** Inputs of operators that are numbers of the model and not arrays that it learns, by position. */
const settings: Readonly<Record<string, readonly number[]>> = {
  Clip: [1, 2],
  Dropout: [1, 2],
  Pad: [1, 2, 3],
  Pow: [1],
  Range: [0, 1, 2],
  Resize: [1, 2, 3],
  Upsample: [1],
};

/** Inputs that have running statistics. */
const statistics: Readonly<Record<string, readonly number[]>> = { BatchNormalization: [3, 4] };

type Kind = 'parameter' | 'buffer' | 'constant';

/** The arrays of a model by their names: what it learns as parameters, running statistics and others as buffers, and constants. */
export function operandsOf(model: OnnxModel, isParameter: IsParameter | undefined): Map<string, Operand> {
  const { graph, marked } = model;
  const used = (positions: Readonly<Record<string, readonly number[]>>) =>
    new Set(
      graph.nodes.flatMap(({ op, inputs }) => (positions[op] ?? []).flatMap((index) => inputs[index] ?? [])),
    );
  const [inSettings, inStatistics] = [used(settings), used(statistics)];
  const kindOf = (name: string, { dtype, shape }: ConstantArray): Kind => {
    if (dtype !== 'float32' || inSettings.has(name) || sizeOf(shape) === 0) return 'constant';
    if (marked && ![...marked.parameters, ...marked.buffers].includes(name)) return 'constant';
    if (inStatistics.has(name)) return 'buffer';
    if (isParameter) return isParameter(name, shape) ? 'parameter' : 'buffer';
    if (marked) return marked.parameters.includes(name) ? 'parameter' : 'buffer';
    return shape.length === 0 ? 'constant' : 'parameter';
  };
  return new Map(
    [...withCopies(graph)].map(([name, array]) => {
      const kind = kindOf(name, array);
      if (kind === 'constant') return [name, array];
      const data = Float32Array.from(array.data);
      const tensor =
        kind === 'parameter' ? new Parameter(data, array.shape) : new BufferTensor(data, array.shape);
      return [name, tensor];
    }),
  );
}

/** PyTorch stores equal arrays once and copies them by Identity; they are different parameters. */
function withCopies({ initializers, nodes }: OnnxGraph): Map<string, ConstantArray> {
  const arrays = new Map(initializers);
  for (const { op, inputs, outputs } of nodes) {
    const original = op === 'Identity' ? arrays.get(inputs[0]) : undefined;
    if (original) arrays.set(outputs[0], original);
  }
  const read = new Set(nodes.filter(({ op }) => op !== 'Identity').flatMap(({ inputs }) => inputs));
  for (const name of arrays.keys()) if (!read.has(name)) arrays.delete(name);
  return arrays;
}
