import { InvalidArgumentError } from 'commander';
import { openStorage } from 'ringrun';

/** Parses the path of a file, or s3://bucket/key. */
export function fileLocation(text: string): string {
  if (!text.startsWith('s3://') || /^s3:\/\/[^/]+\/(.*[^/])?[^/]$/.test(text)) return text;
  throw new InvalidArgumentError('Expected a file or s3://bucket/key, such as s3://models/mnist.onnx.');
}

/**
 * Writes or replaces a file, atomically, and creates missing folders. Throws `StorageError` if the operation fails.
 *
 * @param location what `fileLocation` accepts
 */
export async function saveFile(location: string, bytes: Uint8Array): Promise<void> {
  const end = location.lastIndexOf('/');
  const parent = end < 0 ? '.' : location.slice(0, end) || '/';
  await openStorage(parent).write(location.slice(end + 1), bytes);
}
