import { fileURLToPath } from 'node:url';
import { InvalidArgumentError } from './errors.ts';

/**
 * A location that the user has named: a path, a `file:` URL as string or `URL`, or `s3://bucket/prefix`. Returns a path or
 * `s3://…`. Looks nothing up.
 *
 * @param who Subject of the error, such as `Checkpointer: dir`.
 * @throws InvalidArgumentError for another scheme, a URL without a path on this host, or a value that is not a location
 */
export function givenLocation(given: string | URL, who: string): string {
  return located(given, who, 'a path, a file: URL or s3://bucket/prefix', true);
}

/** `givenLocation` for a file system only: rejects `s3://…`. */
export function givenPath(given: string | URL, who: string): string {
  return located(given, who, 'a path or a file: URL', false);
}

function located(given: unknown, who: string, expected: string, allowsBucket: boolean): string {
  const text = given instanceof URL ? textOf(given) : given;
  const refuse = (why = '') =>
    new InvalidArgumentError(
      `${who}: expected ${expected}, got ${typeof text === 'string' ? `'${text}'` : String(text)}${why}.`,
    );
  if (typeof text !== 'string' || text === '' || text.includes('\0')) throw refuse();
  if (text.startsWith('file:')) {
    try {
      return fileURLToPath(text);
    } catch (error) {
      throw refuse(` (${(error as Error).message})`);
    }
  }
  const isOther = /^[a-z][a-z0-9+.-]+:\/\//i.test(text) || given instanceof URL;
  if (isOther && !(allowsBucket && text.startsWith('s3://'))) throw refuse();
  return text;
}

function textOf(url: URL): string {
  return url.protocol === 's3:' ? `s3://${url.host}${decodeURIComponent(url.pathname)}` : url.href;
}
