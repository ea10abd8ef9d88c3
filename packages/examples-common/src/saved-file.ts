import { openStorage } from 'ringrun';

/**
 * Writes or replaces a file, atomically, and creates missing folders. Throws `StorageError` if the operation fails.
 *
 * @param location a location that `outputFile` accepts
 */
export async function saveFile(location: string, bytes: Uint8Array): Promise<void> {
  const end = location.lastIndexOf('/');
  const parent = end < 0 ? '.' : location.slice(0, end) || '/';
  await openStorage(parent).write(location.slice(end + 1), bytes);
}
