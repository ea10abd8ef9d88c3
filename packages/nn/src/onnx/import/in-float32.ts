import { dataTypeCode } from '../../onnx-format/type-codes.ts';
import { constantArray, type ConstantArray } from './constant-array.ts';
import type { AttributeContent, OnnxGraph, OnnxModel, OnnxNode } from './decode.ts';
import { elementTypeOfCode, isWideFloat, type ElementType } from './element-type.ts';

/** Converts a model's other float types to float32. */
export function inFloat32(model: OnnxModel): OnnxModel {
  return { ...model, graph: graphInFloat32(model.graph) };
}

function graphInFloat32(graph: OnnxGraph): OnnxGraph {
  return {
    ...graph,
    nodes: graph.nodes.map(nodeInFloat32),
    initializers: new Map([...graph.initializers].map(([name, array]) => [name, arrayInFloat32(array)])),
    inputTypes: graph.inputTypes.map((type) => type && typeInFloat32(type)),
  };
}

function nodeInFloat32(node: OnnxNode): OnnxNode {
  const attributes = [...node.attributes].map(([name, { type, content }]) => {
    const isType = node.op === 'Cast' && name === 'to';
    return [name, { type, content: isType ? codeInFloat32(content) : contentInFloat32(content) }] as const;
  });
  return { ...node, attributes: new Map(attributes) };
}

function contentInFloat32(content: AttributeContent | undefined): AttributeContent | undefined {
  if (typeof content !== 'object' || Array.isArray(content)) return content;
  return 'nodes' in content ? graphInFloat32(content) : arrayInFloat32(content as ConstantArray);
}

function codeInFloat32(code: AttributeContent | undefined): AttributeContent | undefined {
  const type = typeof code === 'number' ? elementTypeOfCode(code) : undefined;
  return type && isWideFloat(type) ? dataTypeCode.float32 : code;
}

function arrayInFloat32(array: ConstantArray): ConstantArray {
  if (!isWideFloat(array.type)) return array;
  return constantArray('float32', array.shape, Float32Array.from(array.data as ArrayLike<number>));
}

function typeInFloat32(type: ElementType): ElementType {
  return isWideFloat(type) ? 'float32' : type;
}
