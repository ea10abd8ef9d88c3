/** Makes something once for each key: a training loop builds an equal graph at every step, and compiles it once. */
export function oncePerKey<T>(): (key: string, make: () => Promise<T>) => Promise<T> {
  const made = new Map<string, Promise<T>>();
  return (key, make) => {
    const known = made.get(key);
    if (known !== undefined) return known;
    const one = make();
    made.set(key, one);
    return one;
  };
}
