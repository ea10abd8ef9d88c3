import { constants } from 'node:buffer';
import { isMissingPackage, missingPackage } from '@ringrun/core';
import { byName, checkedName } from './names.ts';
import { connect, endpointOf } from './s3-client.ts';
import type { Connection } from './s3-client.ts';
import { s3Error } from './s3-errors.ts';
import { objectChunks, objectRange } from './s3-object.ts';
import type { Chunk } from './s3-object.ts';
import { Pages } from './s3-pages.ts';
import { StorageError } from './storage-error.ts';
import type { Storage, StorageEntry, StoredObject } from './storage.ts';

export interface S3StorageOptions {
  bucket: string;
  /** Prefix of all names in the bucket, without leading or trailing `/`. May be empty. */
  prefix: string;
  /** Larger objects are sent in parts of this many bytes, at least 5 MiB (S3's limit). Default: 64 MiB. */
  partBytes?: number;
  /** Milliseconds without data after which a request fails. Default: 30,000. */
  patienceMs?: number;
}

/** An optional package. */
const client = '@aws-sdk/client-s3';

const partsAtOnce = 4;

/** Objects below a prefix of a bucket. Every write is atomic: one request, or a multipart upload. */
export class S3Storage implements Storage {
  readonly location: string;
  readonly #bucket: string;
  readonly #prefix: string;
  readonly #partBytes: number;
  readonly #patienceMs: number;
  #connection: Promise<Connection> | undefined;

  /** Endpoint, region and credentials are read from the environment: see `openStorage`. Sends nothing. */
  constructor({ bucket, prefix, partBytes = 64 * 2 ** 20, patienceMs = 30_000 }: S3StorageOptions) {
    this.#bucket = bucket;
    this.#prefix = prefix === '' ? '' : `${prefix}/`;
    this.#partBytes = partBytes;
    this.#patienceMs = patienceMs;
    this.location = prefix === '' ? `s3://${bucket}` : `s3://${bucket}/${prefix}`;
  }

  async list(prefix = ''): Promise<StoredObject[]> {
    const objects: StoredObject[] = [];
    for await (const { name, bytes } of this.#listed(prefix))
      if (isObject(name)) objects.push({ name, bytes });
    return objects.sort(byName);
  }

  async *entries(prefix = ''): AsyncGenerator<StorageEntry, void> {
    for await (const { name } of this.#listed(prefix)) {
      if (isObject(name)) yield { name, kind: 'object' };
      else if (name !== '') yield { name: name.slice(0, -1), kind: 'folder' };
    }
  }

  /** With the empty objects of folders. */
  async *#listed(prefix: string): AsyncGenerator<StoredObject, void> {
    const input = { Bucket: this.#bucket, Prefix: this.#prefix + prefix };
    const pages = new Pages(input.Prefix);
    let token: string | undefined;
    do {
      const { objects, next } = await this.#try('listing', prefix, async ({ client, s3 }) =>
        pages.read(await client.send(new s3.ListObjectsV2Command({ ...input, ContinuationToken: token }))),
      );
      for (const { name, bytes } of objects) yield { name: name.slice(this.#prefix.length), bytes };
      token = next;
    } while (token !== undefined);
  }

  async read(name: string): Promise<Uint8Array<ArrayBuffer>> {
    return await this.#try('reading', checkedName(name), (connection) => this.#readAll(connection, name));
  }

  async size(name: string): Promise<number> {
    // The first of the names that begin with it. An answer to HeadObject has no body that tells a missing bucket apart.
    const { value } = await this.#listed(checkedName(name)).next();
    if (value?.name === name) return value.bytes;
    const attempt = `reading ${this.location}/${name}`;
    throw new StorageError('not found', attempt, 'NoSuchKey: it is not listed', 'Check the name');
  }

  async readRange(name: string, begin: number, end: number): Promise<Uint8Array<ArrayBuffer>> {
    if (end === begin) return new Uint8Array(0);
    const Range = `bytes=${begin}-${end - 1}`;
    return await this.#try('reading', checkedName(name), ({ client, s3 }) =>
      objectRange(
        () => client.send(new s3.GetObjectCommand({ ...this.#object(name), Range })),
        { begin, end },
        this.#patienceMs,
      ),
    );
  }

  async *chunks(name: string): AsyncGenerator<Uint8Array, void> {
    const connection = await this.#try('reading', checkedName(name), (connection) =>
      Promise.resolve(connection),
    );
    const chunks = this.#chunksOf(connection, name);
    try {
      for (;;) {
        const next = await this.#try('reading', name, () => chunks.next());
        if (next.done) return;
        yield next.value.bytes;
      }
    } finally {
      await chunks.return();
    }
  }

  async write(name: string, bytes: Uint8Array): Promise<void> {
    await this.#try('writing', checkedName(name), async (connection) => {
      if (bytes.length > this.#partBytes) await this.#writeInParts(connection, name, bytes);
      else
        await connection.client.send(
          new connection.s3.PutObjectCommand({ ...this.#object(name), Body: bytes }),
        );
    });
  }

  async delete(name: string): Promise<void> {
    await this.#delete(checkedName(name));
  }

  async deleteFolder(folder: string, first?: string): Promise<void> {
    if (first !== undefined) await this.delete(`${folder}/${first}`);
    const objects = await this.list(`${checkedName(folder)}/`);
    await inTurn(objects.length, (index) => this.#delete(objects[index].name));
  }

  async #delete(name: string): Promise<void> {
    try {
      await this.#try('deleting', name, ({ client, s3 }) =>
        client.send(new s3.DeleteObjectCommand(this.#object(name))),
      );
    } catch (error) {
      if (!(error instanceof StorageError && error.problem === 'not found')) throw error;
    }
  }

  #object(name: string): { Bucket: string; Key: string } {
    return { Bucket: this.#bucket, Key: this.#prefix + name };
  }

  async #try<T>(doing: string, name: string, act: (connection: Connection) => Promise<T>): Promise<T> {
    try {
      this.#connection ??= connect(this.#patienceMs);
      return await act(await this.#connection);
    } catch (error) {
      if (error instanceof StorageError) throw error;
      const url = name === '' ? this.location : `${this.location}/${name}`;
      if (isMissingPackage(error, client)) throw missingPackage(`${doing} ${url}`, client, error);
      throw s3Error(`${doing} ${url} at ${endpointOf(process.env) ?? 'Amazon S3'}`, error);
    }
  }

  async #readAll(connection: Connection, name: string): Promise<Uint8Array<ArrayBuffer>> {
    const chunks: Uint8Array[] = [];
    let whole: Uint8Array<ArrayBuffer> | undefined;
    let received = 0;
    for await (const { bytes, total } of this.#chunksOf(connection, name)) {
      if (total === undefined) chunks.push(bytes);
      else (whole ??= arrayOf(total, chunks)).set(bytes, received);
      received += bytes.length;
    }
    return whole ?? arrayOf(received, chunks);
  }

  #chunksOf({ client, s3 }: Connection, name: string): AsyncGenerator<Chunk, void> {
    return objectChunks(async (begin, version) => {
      const rest = begin > 0 && {
        Range: `bytes=${begin}-`,
        ...(version === undefined ? {} : { IfMatch: version }),
      };
      return await client.send(new s3.GetObjectCommand({ ...this.#object(name), ...rest }));
    }, this.#patienceMs);
  }

  /** The object becomes visible with the last request. */
  async #writeInParts({ client, s3 }: Connection, name: string, bytes: Uint8Array): Promise<void> {
    const object = this.#object(name);
    const { UploadId } = await client.send(new s3.CreateMultipartUploadCommand(object));
    const sendPart = async (index: number) => {
      const Body = bytes.subarray(index * this.#partBytes, (index + 1) * this.#partBytes);
      const part = { ...object, UploadId, PartNumber: index + 1, Body };
      const { ETag } = await client.send(new s3.UploadPartCommand(part));
      return { ETag, PartNumber: index + 1 };
    };
    try {
      const Parts = await inTurn(Math.ceil(bytes.length / this.#partBytes), sendPart);
      await client.send(
        new s3.CompleteMultipartUploadCommand({ ...object, UploadId, MultipartUpload: { Parts } }),
      );
    } catch (error) {
      // Parts of an incomplete upload are stored and billed until it is aborted. An error of the abort would hide the
      // upload's error.
      await client.send(new s3.AbortMultipartUploadCommand({ ...object, UploadId })).catch(() => undefined);
      throw error;
    }
  }
}

/** An array of `length` bytes that begins with those of `chunks`. */
function arrayOf(length: number, chunks: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  if (length > constants.MAX_LENGTH)
    throw new Error(
      `it has ${length} bytes, but an array of this Node.js has at most ${constants.MAX_LENGTH}`,
    );
  const array = new Uint8Array(length);
  let filled = 0;
  for (const chunk of chunks) {
    array.set(chunk, filled);
    filled += chunk.length;
  }
  return array;
}

/** Consoles create an empty object with a trailing `/` for a folder. */
function isObject(name: string): boolean {
  return name !== '' && !name.endsWith('/');
}

/** Results of `act(0)` to `act(count - 1)`, at most `partsAtOnce` at a time. */
async function inTurn<T>(count: number, act: (index: number) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  let next = 0;
  const work = async () => {
    while (next < count) {
      const index = next++;
      results[index] = await act(index);
    }
  };
  await Promise.all(Array.from({ length: Math.min(partsAtOnce, count) }, work));
  return results;
}
