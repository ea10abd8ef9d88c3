/**
 * Neural networks: modules, automatic differentiation and optimizers. A training step compiles to one ONNX graph.
 *
 * @module @ringrun/nn
 */
export * as autograd from './autograd/index.ts';
export { autocast, isAutocastEnabled, type AutocastOptions } from './tensor/autocast.ts';
export { BufferTensor } from './tensor/buffer-tensor.ts';
export { cat, cdist, einsum, meshgrid, stack, where } from './tensor/combine.ts';
export { bernoulli, multinomial } from './tensor/random-sampling.ts';
export { checkpoint } from './functional/activation-checkpoint.ts';
export { compileStep, type CompiledStep, type CompileStepOptions } from './compiled-step/compile-step.ts';
export type { Auxiliary, StepResult } from './compiled-step/step-result.ts';
export type { Device } from './executor/device.ts';
export {
  backends,
  type Backends,
  type CudnnSettings,
  type MatmulSettings,
  getFloat32MatmulPrecision,
  setFloat32MatmulPrecision,
  type Float32MatmulPrecision,
} from './executor/precision.ts';
export { setDefaultDevice } from './executor/select.ts';
export { programCache } from './compiler/program-cache.ts';
export {
  arange,
  empty,
  emptyLike,
  eye,
  full,
  fullLike,
  linspace,
  logspace,
  ones,
  onesLike,
  zeros,
  zerosLike,
  type CreationOptions,
} from './tensor/creation.ts';
export { normal, rand, randint, randLike, randn, randnLike, randperm } from './tensor/random-creation.ts';
export type { ArrayOf, DType, FloatDType, Scalar, TensorData } from './dtype.ts';
export { ArgumentError, NnError, ShapeError } from './errors/errors.ts';
export * as distributions from './distributions/index.ts';
export * as F from './functional/index.ts';
export type { GradientReceiver } from './graph/source.ts';
export { GradScaler, type GradScalerOptions } from './optim/grad-scaler.ts';
export { enableGrad, inferenceMode, isGradEnabled, noGrad } from './tensor/no-grad.ts';
export * as nn from './nn/index.ts';
export { deepcopy } from './nn/deepcopy.ts';
export { summary, type LayerSummary, type ModelSummary } from './nn/summary.ts';
export { exportOnnx, type Exportable } from './onnx/export/export-onnx.ts';
export type { ExportInput, ExportOptions } from './onnx/export/export-options.ts';
export { importOnnx, type ImportOptions } from './onnx/import/import-onnx.ts';
export { OnnxModule, type OnnxOutput } from './onnx/import/onnx-module.ts';
export type { OnnxInput } from './onnx/import/decode.ts';
export type { IsParameter } from './onnx/import/initializers.ts';
export * as optim from './optim/index.ts';
export { Parameter, type ParameterOptions } from './tensor/parameter.ts';
export { SparseGradient } from './sparse/sparse-gradient.ts';
export { defaultGenerator, manualSeed, type Generator, type GeneratorState } from './random/generator.ts';
export type { RandomOptions } from './random/random-options.ts';
export type {
  Element,
  FlatElements,
  NestedElements,
  ShapedElements,
  TensorElements,
} from './tensor/elements.ts';
export { tensor, Tensor, type BackwardOptions, type TensorOptions } from './tensor/tensor.ts';
export type { ProductScales } from './tensor/matrix-methods.ts';
export type { QuotientOptions, SumOptions } from './tensor/pointwise-methods.ts';
export type { Index, Operand, ValuesAndIndices } from './tensor/tensor-types.ts';
export type {
  ConvertsToFloat32,
  LoadableArray,
  LoadableTensor,
  StoredTensor,
} from './tensor/stored-tensor.ts';
export type { Call } from './calls/call.ts';
export type { Signature } from './calls/signature.ts';
export type { Signatures } from './calls/signatures.ts';
export type { Sized, Spread, SpreadAs } from './calls/sizes.ts';
