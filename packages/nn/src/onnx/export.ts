import { emitNodes } from '../compiler/emit.ts';
import { ArgumentError } from '../errors.ts';
import { isNode, sizeOf } from '../graph/node.ts';
import { topologicalOrder } from '../graph/topology.ts';
import type { Module } from '../nn/module.ts';
import { tensor, type Tensor } from '../tensor.ts';
import { GraphBuilder, type Dimension } from './graph-builder.ts';

export interface ExportOptions {
  /** Shape of the model's input, float32; the first dimension is the batch, which the exported model leaves open. */
  inputShape: readonly number[];
  /** Names in the exported model; `input` and `output` unless given. */
  inputName?: string;
  outputName?: string;
}

/**
 * The model for inference, as the bytes of an ONNX file (torch.onnx.export), in evaluation: parameters, and buffers
 * that it reads, as initializers under their names (`conv1.weight`), one input and one output with an open first dimension `batch`.
 */
export function exportOnnx(
  model: Module & { forward(input: Tensor): Tensor },
  { inputShape, inputName = 'input', outputName = 'output' }: ExportOptions,
): Uint8Array {
  const input = tensor(new Float32Array(sizeOf(inputShape)), inputShape);
  const output = inEvaluation(model, () => model.forward(input));
  const graph = new GraphBuilder();
  const leaves = [{ name: inputName, value: input.value }];
  const order = topologicalOrder([output.value]);
  const buffers = [...model.namedBuffers()].filter(([, { value }]) => order.includes(value.node));
  for (const [name, { value, data, shape }] of [...model.namedParameters(), ...buffers]) {
    graph.initializer(name, 'float32', shape, data);
    leaves.push({ name, value });
  }
  const known = new Set(leaves.map(({ value }) => value.node));
  for (const node of order) {
    if (isNode(node, 'Input') && !known.has(node)) {
      throw new ArgumentError(
        'exportOnnx: forward uses a tensor that is neither its input nor a parameter or buffer of the model; make it a Parameter or a BufferTensor.',
      );
    }
  }
  const open = (shape: readonly number[]): Dimension[] => ['batch', ...shape.slice(1)];
  graph.input(inputName, 'float32', open(inputShape));
  graph.output(outputName, output.dtype, open(output.shape));
  emitNodes(graph, leaves, [{ name: outputName, value: output.value }]);
  return graph.encode();
}

/** Builds a graph with every part of the model in evaluation, and leaves each as it was. */
function inEvaluation<T>(model: Module, build: () => T): T {
  const modes = [...model.namedModules()].map(([, module]) => [module, module.training] as const);
  model.eval();
  try {
    return build();
  } finally {
    for (const [module, training] of modes) module.training = training;
  }
}
