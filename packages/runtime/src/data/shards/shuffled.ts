import type { Random } from '../random.ts';

/** Yields items in a random order: each is chosen from a buffer of the next `bufferSize` ones. */
export async function* shuffled<Item>(
  items: AsyncIterable<Item>,
  bufferSize: number,
  random: Random,
): AsyncGenerator<Item, void> {
  const buffer: Item[] = [];
  const take = (): Item => {
    const index = random.below(buffer.length);
    const item = buffer[index];
    buffer[index] = buffer.at(-1)!;
    buffer.pop();
    return item;
  };
  for await (const item of items) {
    buffer.push(item);
    if (buffer.length >= bufferSize) yield take();
  }
  while (buffer.length > 0) yield take();
}
