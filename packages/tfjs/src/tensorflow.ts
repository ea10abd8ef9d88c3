import { TfjsError } from './errors.ts';

// The part of TensorFlow.js's API that this package uses. Declared here instead of imported from @tensorflow/tfjs-core,
// which users of tfjs, tfjs-node or tfjs-node-gpu may be unable to import. test/types.test.ts checks the declarations.

export type TfValues = Float32Array | Int32Array | Uint8Array;

/** tf.Tensor */
export interface TfTensor {
  readonly shape: number[];
  readonly dtype: string;
  /** Row-major. The CPU backend returns its own array, others a copy. */
  dataSync(): unknown;
  dispose(): void;
}

/** tf.Variable */
export interface TfVariable extends TfTensor {
  readonly name: string;
  readonly trainable: boolean;
  /** Another object after each `assign`. */
  readonly dataId: object;
  assign(value: never): void;
}

/** tf.Optimizer, as passed by users. */
export interface AnyOptimizer {
  /** Computes the gradients of `f` and applies them. */
  minimize(f: never, returnCost?: boolean, varList?: never): unknown;
  /** Computes the value of `f` and its gradients. */
  computeGradients(f: never, varList?: never): unknown;
  /** Changes the variables by their gradients. */
  applyGradients(gradients: never): void;
}

/** tf.LayersModel, tf.Sequential. */
export interface AnyModel {
  /** All variables of the layers, trainable or not, in definition order. */
  readonly weights: readonly AnyLayerVariable[];
}

/** tf.LayerVariable */
export interface AnyLayerVariable {
  /** Returns the tf.Variable. */
  read(): unknown;
}

export type NamedGradient = Readonly<{ name: string; tensor?: TfTensor | null | undefined }>;
export type GradientsByName = Readonly<Record<string, TfTensor | null | undefined>>;

/** tf.Optimizer, as called by this package. */
export interface Optimizer {
  minimize(f: () => TfTensor, returnCost?: boolean, varList?: TfVariable[]): TfTensor | null;
  computeGradients(
    f: () => TfTensor,
    varList?: readonly TfVariable[],
  ): { value: TfTensor; grads: GradientsByName };
  applyGradients(gradients: GradientsByName | readonly NamedGradient[]): void;
  getClassName?(): string;
  getConfig?(): object;
}

/** tf.engine() */
export interface Engine {
  /** `cpu`, `tensorflow`, `wasm`, `webgl`; unset before the first tensor. */
  readonly backendName?: string | null;
  readonly backend: object;
  readonly registeredVariables: Readonly<Record<string, TfVariable>>;
  makeTensor(values: TfValues, shape: number[], dtype: never): TfTensor;
  runKernel(name: string, inputs: never, attributes: never): unknown;
}

/**
 * The engine of this process, with its variables and backend. All TensorFlow.js packages share it through this global
 * (`getOrMakeEngine` of tfjs-core, since 1.2), so this package does not need to import one of them.
 */
export function engine(): Engine {
  const found = (globalThis as { _tfengine?: Engine })._tfengine;
  if (found !== undefined) return found;
  throw new TfjsError(
    'ERR_ARGUMENT',
    'TensorFlow.js is not loaded. Import @tensorflow/tfjs, @tensorflow/tfjs-node or @tensorflow/tfjs-node-gpu before you call @ringrun/tfjs.',
  );
}

/** A tensor with a copy of `values`: backends may keep the array that they receive. */
export function tensorOf(values: TfValues, { shape, dtype }: Pick<TfTensor, 'shape' | 'dtype'>): TfTensor {
  return engine().makeTensor(values.slice(), shape, dtype as never);
}

/** The elements, read-only, valid only until the next operation. */
export function valuesOf(tensor: TfTensor): TfValues {
  return tensor.dataSync() as TfValues;
}

export function assign(variable: TfVariable, values: TfValues): void {
  const tensor = tensorOf(values, variable);
  variable.assign(tensor as never);
  tensor.dispose();
}

export function isVariable(thing: unknown): thing is TfVariable {
  const { assign: assigns, trainable } = (thing ?? {}) as Partial<Record<'assign' | 'trainable', unknown>>;
  return typeof assigns === 'function' && typeof trainable === 'boolean';
}

/** All variables of a model, or of the process, in definition order, without strings and complex numbers. */
export function variablesIn(model?: AnyModel): TfVariable[] {
  const all =
    model === undefined
      ? Object.values(engine().registeredVariables)
      : model.weights.map((weight) => weight.read() as TfVariable);
  return all.filter(({ dtype }) => ['float32', 'int32', 'bool'].includes(dtype));
}

/** The variables in an optimizer's fields, such as moments: single variables, or lists of `{ variable }`. */
export function variablesOfOptimizer(optimizer: object): TfVariable[] {
  return Object.values(optimizer).flatMap((field: unknown) => {
    if (isVariable(field)) return [field];
    if (!Array.isArray(field)) return [];
    return field.map((slot: { variable?: unknown } | null) => slot?.variable).filter(isVariable);
  });
}
