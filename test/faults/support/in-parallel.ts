/** Calls `act` with each item, for `width` items at a time. Rejects at the first failure. */
export async function inParallel<Item>(
  items: readonly Item[],
  width: number,
  act: (item: Item) => Promise<void>,
): Promise<void> {
  const left = items.values();
  const one = async () => {
    for (const item of left) await act(item);
  };
  await Promise.all(Array.from({ length: width }, one));
}
