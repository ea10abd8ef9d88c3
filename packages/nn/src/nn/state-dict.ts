import type { DistributedTensor } from 'ringrun';
import { ArgumentError } from '../errors.ts';
import {
  asFloat32,
  describeValue,
  loadableMisfit,
  store,
  type LoadableTensor,
  type StoredTensor,
} from '../stored-tensor.ts';

/** A model's parameters and buffers by torch's keys: `conv1.weight`, `bn1.running_mean`. */
export type ModuleStateDict = Map<string, StoredTensor>;

/** What `loadStateDict` takes: tensors of any dtype by key. */
export type StoredTensors = ReadonlyMap<string, LoadableTensor> | Readonly<Record<string, LoadableTensor>>;

/** Keys that one side has and the other has not. */
export interface IncompatibleKeys {
  /** Keys of the model that were not given. */
  readonly missingKeys: readonly string[];
  /** Keys that were given and that the model has not. */
  readonly unexpectedKeys: readonly string[];
}

/** The path of properties in camelCase, as torch would write it: `bn1.runningMean` is `bn1.running_mean`. */
export function keyOf(path: string): string {
  return path.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** What a module's keys stand for, a buffer behind the parameters of its own module. */
export function tensorsByKey(
  parameters: Iterable<readonly [path: string, tensor: DistributedTensor]>,
  buffers: Iterable<readonly [path: string, tensor: DistributedTensor]>,
): Map<string, DistributedTensor> {
  const tensorsOf = new Map<string, (readonly [string, DistributedTensor])[]>();
  for (const entry of [...parameters, ...buffers]) {
    const module = entry[0].slice(0, entry[0].lastIndexOf('.') + 1);
    tensorsOf.set(module, [...(tensorsOf.get(module) ?? []), entry]);
  }
  const tensors = new Map<string, DistributedTensor>();
  for (const [path, tensor] of [...tensorsOf.values()].flat()) {
    if (tensors.has(keyOf(path))) {
      throw new ArgumentError(
        `stateDict: two properties have the key ${keyOf(path)}, one of them ${path}; rename one.`,
      );
    }
    tensors.set(keyOf(path), tensor);
  }
  return tensors;
}

export function saveTensors(tensors: ReadonlyMap<string, DistributedTensor>): ModuleStateDict {
  return new Map([...tensors].map(([key, { shape, data }]) => [key, store(shape, data)]));
}

/** Copies what is stored into the tensors, once all of it fits. */
export function loadTensors(
  tensors: ReadonlyMap<string, DistributedTensor>,
  given: StoredTensors,
  strict: boolean,
): IncompatibleKeys {
  const stored = asMap(given);
  const missingKeys = [...tensors.keys()].filter((key) => !stored.has(key));
  const unexpectedKeys = [...stored.keys()].filter((key) => !tensors.has(key));
  const differences = [
    ...(strict && missingKeys.length > 0 ? [`missing: ${missingKeys.join(', ')}`] : []),
    ...(strict && unexpectedKeys.length > 0 ? [`unexpected: ${unexpectedKeys.join(', ')}`] : []),
    ...misfits(tensors, stored),
  ];
  if (differences.length > 0) {
    const advice = adviceOnPrefix(missingKeys, unexpectedKeys);
    throw new ArgumentError(
      `loadStateDict: what is given does not fit the module: ${differences.join('; ')}. Nothing was loaded.${advice}`,
    );
  }
  for (const [key, { data }] of stored) tensors.get(key)?.data.set(asFloat32(data));
  return { missingKeys, unexpectedKeys };
}

/** What to do where only a prefix keeps the keys from being the module's. */
function adviceOnPrefix(missingKeys: readonly string[], unexpectedKeys: readonly string[]): string {
  const prefix = 'module.';
  const isWrapped =
    missingKeys.length > 0 && missingKeys.every((key) => unexpectedKeys.includes(prefix + key));
  if (!isWrapped) return '';
  return (
    ` Every key begins with '${prefix}', which PyTorch's DistributedDataParallel adds. ` +
    `Write loadStateDict(nn.utils.consumePrefixInStateDictIfPresent(state, '${prefix}')).`
  );
}

function asMap(given: StoredTensors): ReadonlyMap<string, LoadableTensor> {
  if (given instanceof Map) return given as ReadonlyMap<string, LoadableTensor>;
  if (typeof given !== 'object' || (given as unknown) === null || Array.isArray(given)) {
    throw new ArgumentError(
      `loadStateDict: takes a Map or a record of { shape, data } by key, given ${describeValue(given)}.`,
    );
  }
  return new Map(Object.entries(given));
}

function misfits(
  tensors: ReadonlyMap<string, DistributedTensor>,
  stored: ReadonlyMap<string, LoadableTensor>,
): string[] {
  return [...stored].flatMap(([key, tensor]) => {
    const own = tensors.get(key);
    const difference = own && loadableMisfit(tensor, own.shape);
    return difference === undefined ? [] : [`${key} ${difference}`];
  });
}
