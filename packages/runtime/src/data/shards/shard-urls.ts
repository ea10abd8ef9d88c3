import { InvalidArgumentError, givenLocation } from '@ringrun/core';
import { storedAt } from '../../storage/stored-at.ts';
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
  const { storage, name } = storedAt(url);
  return storage.chunks(name);
}

/** The braces of a `URL` object are percent-encoded. */
function nameOf(pattern: string | URL): string {
  return givenLocation(pattern, 'ShardDataset');
}
