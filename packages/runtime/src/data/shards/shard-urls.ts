import { basename, dirname } from 'node:path';
import { InvalidArgumentError, givenLocation } from '@ringrun/core';
import { isBucket, openStorage } from '../../storage/open-storage.ts';
import { expandBraces } from './expand-braces.ts';

/**
 * The shards of a dataset: the patterns with their braces expanded.
 *
 * @throws InvalidArgumentError if no shard is given, or one is given twice, because an epoch would visit its samples
 * twice
 */
export function shardUrls(patterns: string | URL | readonly (string | URL)[]): string[] {
  const urls = [patterns].flat().flatMap((pattern) => expandBraces(nameOf(pattern)));
  const seen = new Set<string>();
  const twice = urls.find((url) => seen.size === seen.add(url).size);
  if (urls.length > 0 && twice === undefined) return urls;
  throw new InvalidArgumentError(
    twice === undefined
      ? 'ShardDataset: expected at least one shard, got none.'
      : `ShardDataset: expected each shard once, got ${twice} twice. Remove one of them.`,
  );
}

/** The bytes of a shard: a file, or an object `s3://bucket/name`. */
export function chunksOf(url: string): AsyncIterable<Uint8Array> {
  if (!isBucket(url)) return openStorage(dirname(url)).chunks(basename(url));
  const end = url.lastIndexOf('/');
  return bucketAt(url.slice(0, end)).chunks(url.slice(end + 1));
}

/** One client for all shards of a bucket, which keeps its connections open. */
const buckets = new Map<string, ReturnType<typeof openStorage>>();

function bucketAt(location: string): ReturnType<typeof openStorage> {
  const bucket = buckets.get(location) ?? openStorage(location);
  buckets.set(location, bucket);
  return bucket;
}

/** The braces of a `URL` object are percent-encoded. */
function nameOf(pattern: string | URL): string {
  return givenLocation(pattern, 'ShardDataset');
}
