import { encodeSafetensors, openStorage } from 'ringrun';
import type { Weights } from './read-weights.ts';

/** What PyTorch's readers of the format expect. */
const metadata = { format: 'pt' };

/**
 * Writes files of a model, weights before others, each atomically.
 *
 * @param files JSON or weights by file name
 * @throws StorageError if a file cannot be written
 */
export async function writeFiles(location: string, files: Readonly<Record<string, object>>): Promise<void> {
  const storage = openStorage(location);
  for (const [name, contents] of Object.entries(files).sort(([a], [b]) => b.localeCompare(a))) {
    const bytes =
      contents instanceof Map
        ? encodeSafetensors(withCounts(contents as Weights), undefined, metadata)
        : json(contents);
    await storage.write(name, bytes);
  }
}

function json(contents: object): Uint8Array {
  return Buffer.from(`${JSON.stringify(contents, undefined, 2)}\n`);
}

/** Numbers of batches as int64, as in PyTorch; here all buffers are float32. */
function withCounts(weights: Weights): Weights {
  return new Map(
    [...weights].map(([name, tensor]) => {
      if (!name.endsWith('num_batches_tracked')) return [name, tensor];
      return [
        name,
        {
          shape: tensor.shape,
          data: BigInt64Array.from(tensor.data as Float32Array, (count) => BigInt(count)),
        },
      ];
    }),
  );
}
