import { BFloat16Bits, Float16Bits } from '@ringrun/core';
import { ArgumentError } from '../../errors/errors.ts';
import type { StoredTensor } from '../../tensor/stored-tensor.ts';

/** A tensor of a state dict with 16-bit elements. */
export interface StoredTensor16 {
  /** Length of each dimension. */
  readonly shape: readonly number[];
  /** Row-major bit patterns. */
  readonly data: Float16Bits | BFloat16Bits;
}

const formats = { float16: Float16Bits, bfloat16: BFloat16Bits };

/**
 * A copy of a state dict in a 16-bit format, of half the size: for ringrun's `encodeSafetensors`, and to be loaded by
 * `loadStateDict`. Elements are rounded to nearest.
 *
 * @param dtype 'bfloat16' has the range of float32 and 8 significant bits; 'float16' has 11, and is infinite from 65,520 on
 */
export function castStateDict(
  state: ReadonlyMap<string, StoredTensor>,
  dtype: 'float16' | 'bfloat16',
): Map<string, StoredTensor16> {
  if (!Object.hasOwn(formats, dtype)) {
    throw new ArgumentError(`castStateDict: expected 'float16' or 'bfloat16', got ${dtype as string}.`);
  }
  return new Map(
    [...state].map(([key, { shape, data }]) => [key, { shape, data: formats[dtype].fromFloat32(data) }]),
  );
}

/**
 * Removes a prefix from the keys of a state dict, such as `module.` of PyTorch's DistributedDataParallel. Returns a copy,
 * unlike torch.nn.modules.utils.consume_prefix_in_state_dict_if_present, which changes its argument.
 *
 * @param state a Map or an object by key; not changed
 * @returns a Map with the prefix removed from all keys that have it
 * @throws ArgumentError if a key exists with and without the prefix
 */
export function consumePrefixInStateDictIfPresent<Value>(
  state: ReadonlyMap<string, Value> | Readonly<Record<string, Value>>,
  prefix: string,
): Map<string, Value> {
  const entries: Iterable<readonly [string, Value]> = isMap(state) ? state : Object.entries(state);
  const stripped = new Map<string, Value>();
  for (const [key, value] of entries) {
    const name = key.startsWith(prefix) ? key.slice(prefix.length) : key;
    if (stripped.has(name)) {
      throw new ArgumentError(
        `consumePrefixInStateDictIfPresent: expected unique keys, got both ${name} and ${prefix}${name}. Remove one.`,
      );
    }
    stripped.set(name, value);
  }
  return stripped;
}

function isMap<Value>(
  state: ReadonlyMap<string, Value> | Readonly<Record<string, Value>>,
): state is ReadonlyMap<string, Value> {
  return state instanceof Map;
}
