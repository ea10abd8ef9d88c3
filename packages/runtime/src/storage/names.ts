import { InvalidArgumentError } from '@ringrun/collectives';

/** `name`, when it is one that stays below its storage's place. */
export function checkedName(name: string): string {
  const parts = name.split('/');
  if (parts.every((part) => part !== '' && part !== '.' && part !== '..' && !part.includes('\0')))
    return name;
  throw new InvalidArgumentError(
    `Storage: '${name}' is no name; give parts with one '/' between them, none of them '.' or '..', such as 'step-100/rank-0.bin'.`,
  );
}

/** In the order of their characters, as buckets list them. */
export function byName(a: { name: string }, b: { name: string }): number {
  return Buffer.compare(Buffer.from(a.name), Buffer.from(b.name));
}
