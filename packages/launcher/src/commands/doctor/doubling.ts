/**
 * y = x + x over two float32: a ModelProto of IR version 9 with opset 20 and one Add (onnx.proto3). The probes of
 * onnxruntime run it.
 */
export const doubling = {
  model: Buffer.from(
    'CAkSB3JpbmdydW46OwoOCgF4CgF4EgF5IgNBZGQSB3JpbmdydW5aDwoBeBIKCggIARIECgIIAmIPCgF5EgoKCAgBEgQKAggCQgIQFA==',
    'base64',
  ),
  input: 'x',
  output: 'y',
  values: [1, -2],
  result: [2, -4],
} as const;
