import { BufferTensor } from '../../tensor/buffer-tensor.ts';
import { sizeOf } from '../../value-type.ts';
import { Parameter } from '../../tensor/parameter.ts';
import type { BoundGraph } from './bind.ts';
import { typed, type ConstantArray, type Operand } from './constant-array.ts';
import type { OnnxGraph, OnnxModel } from './decode.ts';
import { namesIn } from './names.ts';
import { inputsOf } from './node-types.ts';

/** Decides if an array of a model is trained. */
export type IsParameter = (name: string, shape: readonly number[]) => boolean;

/** Names of inputs that hold running statistics. */
const statistics: Readonly<Record<string, readonly number[]>> = { BatchNormalization: [3, 4] };

type Kind = 'parameter' | 'buffer' | 'constant';

interface Roles {
  /** Names of arrays that shapes follow from. */
  readonly needed: ReadonlySet<string>;
  readonly isParameter: IsParameter | undefined;
}

/** The arrays of a model by their names: learned ones as parameters, running statistics and others as buffers, and constants. */
export function operandsOf(
  model: OnnxModel,
  bound: BoundGraph,
  { needed, isParameter }: Roles,
): Map<string, Operand> {
  const { marked } = model;
  const settings = new Set(settingsOf(bound));
  const inStatistics = new Set(
    bound.nodes.flatMap(({ op, inputs }) => (statistics[op] ?? []).flatMap((index) => inputs[index] ?? [])),
  );
  const kindOf = (name: string, { type, shape }: ConstantArray): Kind => {
    if (type !== 'float32' || needed.has(name) || settings.has(name) || sizeOf(shape) === 0)
      return 'constant';
    if (marked && ![...marked.parameters, ...marked.buffers].includes(name)) return 'constant';
    if (inStatistics.has(name)) return 'buffer';
    if (isParameter) return isParameter(name, shape) ? 'parameter' : 'buffer';
    if (marked) return marked.parameters.includes(name) ? 'parameter' : 'buffer';
    return shape.length === 0 ? 'constant' : 'parameter';
  };
  const taken = new Set<ConstantArray>();
  return new Map<string, Operand>(
    [...model.graph.initializers].map(([name, array]) => {
      const kind = kindOf(name, array);
      if (kind === 'constant') return [name, array];
      const own = typed(array) as Float32Array;
      // Copies of an array are trained separately.
      const data = taken.has(array) ? own.slice() : own;
      taken.add(array);
      const tensor =
        kind === 'parameter' ? new Parameter(data, array.shape) : new BufferTensor(data, array.shape);
      return [name, tensor];
    }),
  );
}

/** Names of arrays that are numbers of the model and not learned, such as the limits of a Clip. */
function settingsOf({ nodes }: BoundGraph): string[] {
  return nodes.flatMap((node) => [
    ...inputsOf(node).flatMap(({ isSetting }, index) => (isSetting ? [node.inputs[index]] : [])),
    ...node.branches.flatMap(settingsOf),
  ]);
}

/**
 * Replaces copies of arrays by Identity with arrays of their own, and removes arrays that are then unused. PyTorch stores
 * equal arrays once and copies them; they are different parameters.
 */
export function withCopies(graph: OnnxGraph): OnnxGraph {
  const arrays = new Map(graph.initializers);
  const nodes = graph.nodes.filter(({ op, domain, inputs, outputs }) => {
    const original = op === 'Identity' && domain === '' ? arrays.get(inputs[0]) : undefined;
    if (original) arrays.set(outputs[0], original);
    return original === undefined;
  });
  const read = namesIn({ ...graph, nodes });
  const initializers = new Map([...arrays].filter(([name]) => read.has(name)));
  return { ...graph, nodes, initializers };
}
