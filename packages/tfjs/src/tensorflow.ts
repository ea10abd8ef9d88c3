import { TfjsError } from './errors.ts';

// What of TensorFlow.js is used, in its own names. Interfaces of ours, and not the types of @tensorflow/tfjs-core: users have tfjs, tfjs-node or tfjs-node-gpu, and the
// package behind them is not theirs to import everywhere. test/types.test.ts keeps them true.

export type TfValues = Float32Array | Int32Array | Uint8Array;

/** tf.Tensor */
export interface TfTensor {
  readonly shape: number[];
  readonly dtype: string;
  /** Row-major; of the CPU backend its own array, of others a copy. */
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

/** tf.Optimizer, as users give it. */
export interface AnyOptimizer {
  minimize(f: never, returnCost?: boolean, varList?: never): unknown;
  computeGradients(f: never, varList?: never): unknown;
  applyGradients(gradients: never): void;
}

/** tf.LayersModel, tf.Sequential: `weights` are its LayerVariables. */
export interface AnyModel {
  readonly weights: readonly { read(): unknown }[];
}

export type NamedGradient = Readonly<{ name: string; tensor?: TfTensor | null | undefined }>;
export type GradientsByName = Readonly<Record<string, TfTensor | null | undefined>>;

/** tf.Optimizer, as it is called here. */
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
  /** `cpu`, `tensorflow`, `wasm`, `webgl`; nothing before the first tensor. */
  readonly backendName?: string | null;
  readonly backend: object;
  readonly registeredVariables: Readonly<Record<string, TfVariable>>;
  makeTensor(values: TfValues, shape: number[], dtype: never): TfTensor;
  runKernel(name: string, inputs: never, attributes: never): unknown;
}

/**
 * The engine of this process, with its variables and backend. TensorFlow.js itself finds it here, so that all its packages share one (`getOrMakeEngine` of tfjs-core, since
 * 1.2): whichever the user has imported, no import of ours can load a second one.
 */
export function engine(): Engine {
  const found = (globalThis as { _tfengine?: Engine })._tfengine;
  if (found !== undefined) return found;
  throw new TfjsError(
    'ERR_ARGUMENT',
    'TensorFlow.js is not loaded: import @tensorflow/tfjs, @tensorflow/tfjs-node or @tensorflow/tfjs-node-gpu before calling functions of @ringrun/tfjs.',
  );
}

/** A tensor with a copy of `values`: backends may go on using the array that they are given. */
export function tensorOf(values: TfValues, { shape, dtype }: Pick<TfTensor, 'shape' | 'dtype'>): TfTensor {
  return engine().makeTensor(values.slice(), shape, dtype as never);
}

/** The variable's elements, to be read at once and not to be changed. */
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

/** All variables of a model, or of the process, in the order of definition. Those of strings and complex numbers have no place in a bucket. */
export function variablesIn(model?: AnyModel): TfVariable[] {
  const all =
    model === undefined
      ? Object.values(engine().registeredVariables)
      : model.weights.map((weight) => weight.read() as TfVariable);
  return all.filter(({ dtype }) => ['float32', 'int32', 'bool'].includes(dtype));
}

/** The variables that an optimizer keeps in its fields, such as moments: alone, or in lists of `{ variable }`. */
export function variablesOfOptimizer(optimizer: object): TfVariable[] {
  return Object.values(optimizer).flatMap((field: unknown) => {
    if (isVariable(field)) return [field];
    if (!Array.isArray(field)) return [];
    return field.map((slot: { variable?: unknown } | null) => slot?.variable).filter(isVariable);
  });
}
