import { ArgumentError } from '../../errors.ts';

/**
 * Removes a prefix from the keys of a state dict, such as `module.` of PyTorch's DistributedDataParallel. Returns a copy,
 * unlike torch.nn.modules.utils.consume_prefix_in_state_dict_if_present, which changes its argument.
 *
 * @param state a Map or an object by key; not changed
 * @returns a Map in which the prefix is removed from all keys that have it
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
