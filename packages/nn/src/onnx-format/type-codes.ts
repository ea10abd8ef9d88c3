// Type codes of ONNX files, without a dependency on protobufjs.

/** onnx.TensorProto.DataType, of the element types that ringrun uses; uint8 for quantized weights only. */
export const dataTypeCode = { float32: 1, uint8: 2, int64: 7, bool: 9, bfloat16: 16 } as const;

/** onnx.AttributeProto.AttributeType, for the attribute types of ringrun's operator table. */
export const attributeTypeCode = {
  float: 1,
  int: 2,
  string: 3,
  tensor: 4,
  graph: 5,
  floats: 6,
  ints: 7,
  strings: 8,
  sparseTensor: 11,
} as const;
