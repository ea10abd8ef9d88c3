/**
 * Converts a model's state that an earlier version saved, with all keys in snake_case, to the model's keys:
 * `hidden_layer.weight` for `hiddenLayer.weight`. Keys that the model has are unchanged.
 *
 * @param own the model's keys
 */
export function withoutEarlierKeys<Value>(
  state: ReadonlyMap<string, Value>,
  own: Iterable<string>,
): ReadonlyMap<string, Value> {
  const known = new Set(own);
  const renamed = new Map<string, string>();
  for (const key of known) {
    const earlier = key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    if (!state.has(key) && !known.has(earlier) && state.has(earlier)) renamed.set(earlier, key);
  }
  if (renamed.size === 0) return state;
  return new Map([...state].map(([key, value]) => [renamed.get(key) ?? key, value]));
}
