import { withoutEarlierKeys, type DistributedTensor } from '@ringrun/core';
import { ArgumentError } from '../errors/errors.ts';
import { withMappedKeys, type KeyMapping } from './key-mapping.ts';
import {
  asFloat32,
  loadableMisfit,
  store,
  type LoadableTensor,
  type StoredTensor,
} from '../tensor/stored-tensor.ts';
import { describeValue } from '../checks/describe-value.ts';

/** A model's parameters and buffers by torch's keys: `conv1.weight`, `bn1.running_mean`. */
export type ModuleStateDict = Map<string, StoredTensor>;

/** Input of `loadStateDict`: tensors of any dtype by key. */
export type StoredTensors = ReadonlyMap<string, LoadableTensor> | Readonly<Record<string, LoadableTensor>>;

/** Keys that are only in the module or only in the state dict. */
export interface IncompatibleKeys {
  /** Keys of the module that are missing in the state dict. */
  readonly missingKeys: readonly string[];
  /** Keys of the state dict that are not in the module. */
  readonly unexpectedKeys: readonly string[];
}

/** Options of {@link Module.loadStateDict}. */
export interface LoadStateDictOptions {
  /** If true, requires exactly the module's keys. If false, ignores missing and unexpected keys. Default: true. */
  strict?: boolean;
  /** Maps keys of the state dict to keys of the module. Default: no renaming. */
  keyMapping?: KeyMapping;
}

/** Tensors by key, in torch's order: the buffers of each module follow its parameters. */
export function tensorsByKey<Parameter, Buffer>(
  parameters: Iterable<readonly [key: string, tensor: Parameter]>,
  buffers: Iterable<readonly [key: string, tensor: Buffer]>,
): Map<string, Parameter | Buffer> {
  const tensorsOf = new Map<string, (readonly [string, Parameter | Buffer])[]>();
  for (const entry of [...parameters, ...buffers]) {
    const module = entry[0].slice(0, entry[0].lastIndexOf('.') + 1);
    tensorsOf.set(module, [...(tensorsOf.get(module) ?? []), entry]);
  }
  const tensors = new Map<string, Parameter | Buffer>();
  for (const [key, tensor] of [...tensorsOf.values()].flat()) {
    if (tensors.has(key)) {
      throw new ArgumentError(`stateDict: expected unique keys, got ${key} for two properties. Rename one.`);
    }
    tensors.set(key, tensor);
  }
  return tensors;
}

export function saveTensors(tensors: ReadonlyMap<string, DistributedTensor>): ModuleStateDict {
  return new Map([...tensors].map(([key, { shape, data }]) => [key, store(shape, data)]));
}

/** Copies stored tensors into the module's tensors. Checks all of them first; an error changes nothing. */
export function loadTensors(
  tensors: ReadonlyMap<string, DistributedTensor>,
  given: StoredTensors,
  { strict = true, keyMapping }: LoadStateDictOptions,
  tied: ReadonlyMap<string, string> = new Map(),
): IncompatibleKeys {
  const mapped = withMappedKeys(asMap(given), keyMapping);
  const stored = new Map(withoutEarlierKeys(mapped, [...tensors.keys(), ...tied.keys()]));
  const copies = separateTied(stored, tied);
  const missingKeys = [...tensors.keys()].filter((key) => !stored.has(key));
  const unexpectedKeys = [...stored.keys()].filter((key) => !tensors.has(key));
  const differences = [
    ...(strict && missingKeys.length > 0 ? [`missing: ${missingKeys.join(', ')}`] : []),
    ...(strict && unexpectedKeys.length > 0 ? [`unexpected: ${unexpectedKeys.join(', ')}`] : []),
    ...misfits(tensors, stored),
    ...[...copies].flatMap(([key, [own, tensor]]) => {
      const difference = loadableMisfit(tensor, tensors.get(own)!.shape);
      return difference === undefined ? [] : [`${key} ${difference}`];
    }),
  ];
  if (differences.length > 0) {
    const advice = adviceOnPrefix(missingKeys, unexpectedKeys);
    throw new ArgumentError(
      `loadStateDict: the state dict does not match the module: ${differences.join('; ')}. Nothing was loaded.${advice}`,
    );
  }
  for (const [key, { data }] of stored) tensors.get(key)?.data.set(asFloat32(data));
  return { missingKeys, unexpectedKeys };
}

/**
 * Removes additional keys of tied tensors from a state dict. If a tensor is stored only under an additional key, it moves to the
 * module's key. Returns the remaining tensors, which are copies.
 */
function separateTied(
  stored: Map<string, LoadableTensor>,
  tied: ReadonlyMap<string, string>,
): Map<string, readonly [own: string, tensor: LoadableTensor]> {
  const copies = new Map<string, readonly [string, LoadableTensor]>();
  for (const [key, own] of tied) {
    const tensor = stored.get(key);
    if (tensor === undefined) continue;
    stored.delete(key);
    if (stored.has(own)) copies.set(key, [own, tensor]);
    else stored.set(own, tensor);
  }
  return copies;
}

/** Advice for keys that differ from the module's only by the prefix `module.`. */
function adviceOnPrefix(missingKeys: readonly string[], unexpectedKeys: readonly string[]): string {
  const prefix = 'module.';
  const isWrapped =
    missingKeys.length > 0 && missingKeys.every((key) => unexpectedKeys.includes(prefix + key));
  if (!isWrapped) return '';
  return (
    ` Every key begins with '${prefix}', which PyTorch's DistributedDataParallel adds. ` +
    `Use loadStateDict(nn.utils.consumePrefixInStateDictIfPresent(state, '${prefix}')).`
  );
}

function asMap(given: StoredTensors): ReadonlyMap<string, LoadableTensor> {
  if (given instanceof Map) return given as ReadonlyMap<string, LoadableTensor>;
  if (typeof given !== 'object' || (given as unknown) === null || Array.isArray(given)) {
    throw new ArgumentError(
      `loadStateDict: expected a Map or an object of { shape, data } by key, got ${describeValue(given)}.`,
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
