import type { ListObjectsV2CommandOutput } from '@aws-sdk/client-s3';
import { quoted } from '@ringrun/core';
import { AnswerError, incomplete } from './s3-answers.ts';
import type { StoredObject } from './storage.ts';

/** One page of a listing. */
export interface Page {
  /** With whole keys as names. */
  objects: StoredObject[];
  /** Token of the next page; undefined for the last page. */
  next: string | undefined;
}

/** Pages without keys in a row after which a listing fails. Services may skip deleted keys with some. */
const maxEmptyPages = 1000;

/** Checks the pages of one listing, which must lead to an end. */
export class Pages {
  readonly #prefix: string;
  readonly #tokens = new Set<string>();
  #firstKey: string | undefined;
  #emptyPages = 0;

  /** @param prefix the beginning of all keys */
  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /** @throws AnswerError for a page that is not one of this listing */
  read(page: ListObjectsV2CommandOutput): Page {
    const invalid = (what: string) =>
      new AnswerError(
        'UnexpectedAnswer',
        what,
        { status: page.$metadata.httpStatusCode ?? 200, headers: {} },
        { meaning: incomplete },
      );
    const objects = (page.Contents ?? []).map(({ Key, Size }): StoredObject => {
      const name = keyOf(Key, page.EncodingType);
      if (name === undefined || !name.startsWith(this.#prefix))
        throw invalid(
          `expected keys that begin with ${quoted(this.#prefix)}, got ${name === undefined ? 'none' : quoted(name)}`,
        );
      if (Size === undefined || !Number.isSafeInteger(Size) || Size < 0)
        throw invalid(`expected the size of ${quoted(name)} in bytes, got ${Size ?? 'none'}`);
      return { name, bytes: Size };
    });
    if (page.IsTruncated !== true) return { objects, next: undefined };
    const { NextContinuationToken: next } = page;
    if (!next) throw invalid('expected a NextContinuationToken after a truncated page, got none');
    this.#emptyPages = objects.length === 0 ? this.#emptyPages + 1 : 0;
    const isAgain = this.#tokens.has(next) || (objects.length > 0 && objects[0].name === this.#firstKey);
    if (isAgain || this.#emptyPages > maxEmptyPages)
      throw invalid('expected the next page of the listing, got the same one again');
    this.#tokens.add(next);
    this.#firstKey = objects.at(0)?.name ?? this.#firstKey;
    return { objects, next };
  }
}

/** Services may encode keys, because XML cannot have all characters. Undefined for a key that cannot be decoded. */
function keyOf(key: string | undefined, encoding: string | undefined): string | undefined {
  if (encoding !== 'url' || key === undefined) return key;
  try {
    return decodeURIComponent(key.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}
