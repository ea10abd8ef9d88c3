import { givenLocation, InvalidArgumentError } from '@ringrun/core';
import { DirectoryStorage } from './directory-storage.ts';
import { S3Storage } from './s3-storage.ts';
import type { Storage } from './storage.ts';

/**
 * The storage at `location`: a folder's path or `file:` URL, or `s3://bucket/prefix` for an S3-compatible bucket. Opens nothing
 * before its first use.
 *
 * Buckets are configured by the environment, as for AWS clients: AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL (services
 * other than Amazon, with the bucket in the path), AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN or
 * other sources of credentials (profiles, roles of a pod or a machine), and AWS_REGION (default with an endpoint:
 * us-east-1).
 *
 * Throws `InvalidArgumentError` for another scheme, or a bucket's URL without a bucket.
 */
export function openStorage(location: string | URL): Storage {
  const given = givenLocation(location, 'openStorage');
  return isBucket(given) ? new S3Storage(partsOf(given)) : new DirectoryStorage(given);
}

/** True for `s3://…`. */
export function isBucket(location: string): boolean {
  return location.startsWith('s3://');
}

function partsOf(location: string): { bucket: string; prefix: string } {
  const [bucket = '', ...prefix] = location
    .slice('s3://'.length)
    .split('/')
    .filter((part) => part !== '');
  if (bucket !== '') return { bucket, prefix: prefix.join('/') };
  throw new InvalidArgumentError(
    `openStorage: expected s3://bucket or s3://bucket/prefix, got '${location}'.`,
  );
}
