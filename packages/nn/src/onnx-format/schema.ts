import { Root, type INamespace, type Type } from 'protobufjs/light.js';

// The subset of ONNX's protobuf schema (onnx.proto3, IR version 9) that ringrun uses.
const schema: INamespace = {
  nested: {
    ModelProto: {
      fields: {
        irVersion: { type: 'int64', id: 1 },
        producerName: { type: 'string', id: 2 },
        graph: { type: 'GraphProto', id: 7 },
        opsetImport: { rule: 'repeated', type: 'OperatorSetIdProto', id: 8 },
        metadataProps: { rule: 'repeated', type: 'StringStringEntryProto', id: 14 },
      },
    },
    OperatorSetIdProto: {
      fields: { domain: { type: 'string', id: 1 }, version: { type: 'int64', id: 2 } },
    },
    GraphProto: {
      fields: {
        node: { rule: 'repeated', type: 'NodeProto', id: 1 },
        name: { type: 'string', id: 2 },
        initializer: { rule: 'repeated', type: 'TensorProto', id: 5 },
        input: { rule: 'repeated', type: 'ValueInfoProto', id: 11 },
        output: { rule: 'repeated', type: 'ValueInfoProto', id: 12 },
        valueInfo: { rule: 'repeated', type: 'ValueInfoProto', id: 13 },
      },
    },
    NodeProto: {
      fields: {
        input: { rule: 'repeated', type: 'string', id: 1 },
        output: { rule: 'repeated', type: 'string', id: 2 },
        name: { type: 'string', id: 3 },
        opType: { type: 'string', id: 4 },
        domain: { type: 'string', id: 7 },
        attribute: { rule: 'repeated', type: 'AttributeProto', id: 5 },
      },
    },
    AttributeProto: {
      fields: {
        name: { type: 'string', id: 1 },
        f: { type: 'float', id: 2 },
        i: { type: 'int64', id: 3 },
        s: { type: 'bytes', id: 4 },
        t: { type: 'TensorProto', id: 5 },
        g: { type: 'GraphProto', id: 6 },
        floats: { rule: 'repeated', type: 'float', id: 7 },
        ints: { rule: 'repeated', type: 'int64', id: 8 },
        strings: { rule: 'repeated', type: 'bytes', id: 9 },
        type: { type: 'int32', id: 20 },
      },
    },
    TensorProto: {
      fields: {
        dims: { rule: 'repeated', type: 'int64', id: 1 },
        dataType: { type: 'int32', id: 2 },
        floatData: { rule: 'repeated', type: 'float', id: 4 },
        int32Data: { rule: 'repeated', type: 'int32', id: 5 },
        // Packed varints, because protobufjs reads integers of 64 bits as JavaScript numbers.
        int64Data: { type: 'bytes', id: 7 },
        name: { type: 'string', id: 8 },
        rawData: { type: 'bytes', id: 9 },
        doubleData: { rule: 'repeated', type: 'double', id: 10 },
        uint64Data: { type: 'bytes', id: 11 },
        externalData: { rule: 'repeated', type: 'StringStringEntryProto', id: 13 },
        dataLocation: { type: 'int32', id: 14 },
      },
    },
    StringStringEntryProto: {
      fields: { key: { type: 'string', id: 1 }, value: { type: 'string', id: 2 } },
    },
    ValueInfoProto: {
      fields: { name: { type: 'string', id: 1 }, type: { type: 'TypeProto', id: 2 } },
    },
    TypeProto: { fields: { tensorType: { type: 'TensorTypeProto', id: 1 } } },
    TensorTypeProto: {
      fields: { elemType: { type: 'int32', id: 1 }, shape: { type: 'TensorShapeProto', id: 2 } },
    },
    TensorShapeProto: { fields: { dim: { rule: 'repeated', type: 'DimensionProto', id: 1 } } },
    DimensionProto: {
      fields: { dimValue: { type: 'int64', id: 1 }, dimParam: { type: 'string', id: 2 } },
    },
  },
};

/** Encodes and decodes a whole ONNX model. */
export const ModelProto: Type = Root.fromJSON(schema).lookupType('ModelProto');

/** Keys of a model's metadata: names of the initializers that are parameters and buffers, as lists in JSON. */
export const namesKeys = { parameters: 'ringrun.parameters', buffers: 'ringrun.buffers' } as const;
