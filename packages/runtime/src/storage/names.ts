import { InvalidArgumentError } from '@ringrun/collectives';

/** Returns `name` if it stays inside the storage. */
export function checkedName(name: string): string {
  const parts = name.split('/');
  if (parts.every((part) => part !== '' && part !== '.' && part !== '..' && !part.includes('\0')))
    return name;
  throw new InvalidArgumentError(
    `Storage: expected a name of parts separated by one '/', without '.' and '..', such as 'step-100/rank-0.bin', got '${name}'.`,
  );
}

/** By UTF-8 bytes, the order in which buckets list names. */
export function byName(a: { name: string }, b: { name: string }): number {
  return Buffer.compare(Buffer.from(a.name), Buffer.from(b.name));
}
