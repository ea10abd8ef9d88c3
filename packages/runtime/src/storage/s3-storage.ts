import type * as S3 from '@aws-sdk/client-s3';
import { isMissingPackage, missingPackage } from '@ringrun/core';
import { homeFolder } from '@ringrun/native';
import { byName, checkedName } from './names.ts';
import { s3Error } from './s3-errors.ts';
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

/** Attempts to read an object if its connection breaks. */
const readAttempts = 3;
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
    const pages = await this.#try('listing', prefix, ({ client, s3 }) =>
      Promise.resolve(s3.paginateListObjectsV2({ client }, input)),
    );
    for (;;) {
      const page = await this.#try('listing', prefix, () => pages.next());
      if (page.done) return;
      for (const { Key = '', Size = 0 } of page.value.Contents ?? [])
        yield { name: Key.slice(this.#prefix.length), bytes: Size };
    }
  }

  async read(name: string): Promise<Uint8Array<ArrayBuffer>> {
    return await this.#try('reading', checkedName(name), (connection) => this.#readAll(connection, name));
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
        yield next.value.chunk;
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
    await this.#try('deleting', checkedName(name), ({ client, s3 }) =>
      client.send(new s3.DeleteObjectCommand(this.#object(name))),
    );
  }

  async deleteFolder(folder: string): Promise<void> {
    const objects = await this.list(`${checkedName(folder)}/`);
    await inTurn(objects.length, (index) => this.delete(objects[index].name));
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
    let whole = new Uint8Array(0);
    let received = 0;
    for await (const { chunk, total } of this.#chunksOf(connection, name)) {
      if (received === 0) whole = new Uint8Array(total);
      whole.set(chunk, received);
      received += chunk.length;
    }
    return whole;
  }

  /** If the connection breaks, requests the rest of the same version of the object. */
  async *#chunksOf({ client, s3 }: Connection, name: string): AsyncGenerator<Chunk, void> {
    let total: number | undefined;
    let version: string | undefined;
    let received = 0;
    for (let attempt = 1; ; attempt += 1) {
      const rest = total !== undefined && {
        Range: `bytes=${received}-`,
        ...(version === undefined ? {} : { IfMatch: version }),
      };
      const answer = await client
        .send(new s3.GetObjectCommand({ ...this.#object(name), ...rest }))
        .catch((error: unknown) => {
          throw total === undefined ? error : brokenOff(received, total, error);
        });
      total ??= answer.ContentLength ?? 0;
      version ??= answer.ETag;
      const chunks = withPatience(answer.Body as Body, this.#patienceMs)[Symbol.asyncIterator]();
      try {
        // Not `for await`: an error thrown by the reader must not look like a broken connection.
        for (;;) {
          const next = await chunks.next().catch((error: unknown) => ({ error }));
          if ('error' in next || next.done) {
            if (received === total) return;
            const cause = 'error' in next ? next.error : new Error('the connection ended');
            if (attempt === readAttempts) throw brokenOff(received, total, cause);
            break;
          }
          received += next.value.length;
          yield { chunk: next.value, total };
        }
      } finally {
        await chunks.return();
      }
    }
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

/** A part of an object of `total` bytes. */
interface Chunk {
  chunk: Uint8Array;
  total: number;
}

type Body = AsyncIterable<Uint8Array> & { destroy(error: Error): void };

/** The chunks of a body. Fails if no chunk arrives within `patienceMs`. */
async function* withPatience(body: Body, patienceMs: number): AsyncGenerator<Uint8Array, void> {
  const patience = setTimeout(() => {
    body.destroy(new Error(`no data was received for ${patienceMs / 1000} s`));
  }, patienceMs);
  try {
    for await (const chunk of body) {
      patience.refresh();
      yield chunk;
    }
  } finally {
    clearTimeout(patience);
  }
}

function brokenOff(received: number, total: number, cause: unknown): Error {
  const reason = cause instanceof Error ? cause.message : String(cause);
  const error = new Error(
    `the connection broke after ${received} of ${total} bytes, and again for the rest (${reason})`,
    { cause },
  );
  return Object.assign(error, { code: 'ECONNRESET' });
}

interface Connection {
  client: S3.S3Client;
  /** The client's module, loaded on demand because that takes 0.2 s. */
  s3: typeof S3;
}

async function connect(patienceMs: number): Promise<Connection> {
  // The client warns that its later releases will not support Node 20; its release is pinned.
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true';
  // The client asks for the home directory even if its files are not needed, and fails without one.
  if (homeFolder() === undefined) process.env.USERPROFILE ??= '/nonexistent';
  const s3 = await import('@aws-sdk/client-s3');
  const endpoint = endpointOf(process.env);
  const region = process.env.AWS_REGION ?? process.env.AWS_DEFAULT_REGION;
  const client = new s3.S3Client({
    // Services other than Amazon use one host for all buckets. Signatures need a region, which is usually not set for
    // them.
    ...(endpoint === undefined ? {} : { endpoint, forcePathStyle: true, region: region ?? 'us-east-1' }),
    followRegionRedirects: true,
    requestHandler: { connectionTimeout: 5000, requestTimeout: patienceMs, throwOnRequestTimeout: true },
    // Not all services support the checksums that became the client's default in 2025.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  });
  return { client, s3 };
}

function endpointOf(environment: NodeJS.ProcessEnv): string | undefined {
  return environment.AWS_ENDPOINT_URL_S3 || environment.AWS_ENDPOINT_URL || undefined;
}
