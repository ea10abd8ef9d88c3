export type { ArrayOf, DType, TensorData } from './dtype.ts';
export { ArgumentError, NnError, ShapeError } from './errors.ts';
export * as F from './functional/index.ts';
export * as nn from './nn/index.ts';
export { exportOnnx, type ExportOptions } from './onnx/export.ts';
export * as optim from './optim/index.ts';
export { Parameter } from './parameter.ts';
export { manualSeed } from './random/generator.ts';
export { cat, stack, Tensor, tensor } from './tensor.ts';
