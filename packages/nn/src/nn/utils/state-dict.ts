import { ArgumentError } from '../../errors.ts';

/**
 * A state dict without a prefix of its keys (torch.nn.modules.utils.consume_prefix_in_state_dict_if_present, which changes the dict that it is given). PyTorch's
 * DistributedDataParallel saves keys with the prefix `module.`.
 *
 * @param state a Map or a record by key; not changed
 * @returns a Map in which keys that had the prefix have it no more, and all others are as they were
 * @throws ArgumentError when a key is there with and without the prefix
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
        `consumePrefixInStateDictIfPresent: the keys ${name} and ${prefix}${name} are both there; remove one.`,
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
