import { basename, dirname } from 'node:path';
import { isBucket, openStorage } from './open-storage.ts';
import type { Storage } from './storage.ts';

/** One client for all objects of a folder of a bucket, which keeps its connections open. */
const buckets = new Map<string, Storage>();

/** The storage of a file or of an object `s3://bucket/name`, and its name in it. */
export function storedAt(url: string): { storage: Storage; name: string } {
  if (!isBucket(url)) return { storage: openStorage(dirname(url)), name: basename(url) };
  const end = url.lastIndexOf('/');
  const location = url.slice(0, end);
  const storage = buckets.get(location) ?? openStorage(location);
  buckets.set(location, storage);
  return { storage, name: url.slice(end + 1) };
}
