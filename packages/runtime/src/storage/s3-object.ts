import type { GetObjectCommandOutput } from '@aws-sdk/client-s3';
import { AnswerError, incomplete } from './s3-answers.ts';

/** A part of an object. */
export interface Chunk {
  bytes: Uint8Array;
  /** Bytes of the whole object; undefined if the service does not tell it. */
  total: number | undefined;
}

/** The answer to a request for an object, or for the rest of one. */
export type ObjectAnswer = Pick<
  GetObjectCommandOutput,
  'Body' | 'ContentLength' | 'ContentRange' | 'ETag' | '$metadata'
>;

/** Requests the bytes from `begin`, of this version if it is known. */
export type Request = (begin: number, version: string | undefined) => Promise<ObjectAnswer>;

/** Breaks of a connection, each after less than `progress` bytes, after which reading fails. */
const maxBreaks = 3;
const progress = 2 ** 20;

/**
 * The bytes of an object in order. If the connection breaks, requests the rest of the same version of the object.
 *
 * @param patienceMs milliseconds without data after which a connection counts as broken
 */
export async function* objectChunks(request: Request, patienceMs: number): AsyncGenerator<Chunk, void> {
  let total: number | undefined;
  let version: string | undefined;
  let received = 0;
  let breaks = 0;
  for (let requests = 0, reached = 0; ; requests += 1) {
    const answer = await request(received, version).catch((error: unknown) => {
      const isReplaced = error instanceof AnswerError && error.name === replacedName;
      throw requests === 0 || isReplaced ? error : brokenOff(received, total, error);
    });
    const body = answer.Body as Body;
    const chunks = body[Symbol.asyncIterator]() as AsyncIterator<Uint8Array, void>;
    try {
      const part = partOf(answer, { received, total, version });
      total = part.total;
      version ??= answer.ETag;
      // A service without ranges sends the object from its beginning.
      let excess = received - part.begin;
      for (;;) {
        const next = await nextWithin(patienceMs, body, chunks).catch((error: unknown) => ({ error }));
        if ('error' in next || next.done) {
          const isWhole = total === undefined ? !('error' in next) : received === total;
          if (isWhole) return;
          breaks = received - reached < progress ? breaks + 1 : 1;
          reached = received;
          const cause = 'error' in next ? next.error : new Error('the connection ended');
          if (breaks === maxBreaks) throw brokenOff(received, total, cause);
          break;
        }
        const bytes = next.value.subarray(Math.min(excess, next.value.length));
        excess -= next.value.length - bytes.length;
        received += bytes.length;
        if (total !== undefined && received > total)
          throw invalid(answer, `expected ${total} bytes, got more`);
        if (bytes.length === 0) continue;
        const pausedAt = performance.now();
        yield { bytes, total };
        // The service may close a connection on which the reader lets it wait.
        if (performance.now() - pausedAt > patienceMs / 2) breaks = 0;
      }
    } finally {
      body.destroy();
    }
  }
}

/**
 * A range of an object. If the connection breaks, requests it again.
 *
 * @param patienceMs milliseconds without data after which a connection counts as broken
 */
export async function objectRange(
  request: () => Promise<ObjectAnswer>,
  { begin, end }: { begin: number; end: number },
  patienceMs: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(end - begin);
  for (let breaks = 1; ; breaks += 1) {
    const answer = await request();
    const body = answer.Body as Body;
    try {
      // A service without ranges sends the object from its beginning.
      let excess = begin - partOf(answer, { received: begin, total: undefined, version: undefined }).begin;
      let received = 0;
      const chunks = body[Symbol.asyncIterator]() as AsyncIterator<Uint8Array, void>;
      for (;;) {
        const next = await nextWithin(patienceMs, body, chunks);
        if (next.done) throw new Error('the connection ended');
        const part = next.value.subarray(Math.min(excess, next.value.length));
        excess -= next.value.length - part.length;
        bytes.set(part.subarray(0, bytes.length - received), received);
        received += part.length;
        if (received >= bytes.length) return bytes;
      }
    } catch (error) {
      if (error instanceof AnswerError) throw error;
      if (breaks === maxBreaks) throw brokenOff(0, bytes.length, error);
    } finally {
      body.destroy();
    }
  }
}

/** Which bytes an answer has. Pure. */
export function partOf(
  answer: Omit<ObjectAnswer, 'Body'>,
  known: { received: number; total: number | undefined; version: string | undefined },
): { begin: number; total: number | undefined } {
  const { received, version } = known;
  const range = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(answer.ContentRange ?? '');
  const isPart = answer.$metadata.httpStatusCode === 206;
  if (isPart && range === null)
    throw invalid(answer, `expected a Content-Range, got ${answer.ContentRange ? 'another one' : 'none'}`);
  if (version !== undefined && answer.ETag !== version) throw replaced(answer);
  const begin = isPart ? Number(range![1]) : 0;
  if (begin > received) throw invalid(answer, `expected the bytes from ${received}, got those from ${begin}`);
  const size = isPart ? (range![2] === '*' ? undefined : Number(range![2])) : answer.ContentLength;
  if (known.total !== undefined && size !== undefined && size !== known.total) throw replaced(answer);
  return { begin, total: known.total ?? size };
}

function invalid(answer: Pick<ObjectAnswer, '$metadata'>, what: string): AnswerError {
  return new AnswerError('UnexpectedAnswer', what, statusOf(answer), { meaning: incomplete });
}

/** S3's code for a version that is not the current one. */
const replacedName = 'PreconditionFailed';

function replaced(answer: Pick<ObjectAnswer, '$metadata'>): AnswerError {
  return new AnswerError(replacedName, 'the object was replaced while it was read', statusOf(answer));
}

function statusOf({ $metadata }: Pick<ObjectAnswer, '$metadata'>) {
  return { status: $metadata.httpStatusCode ?? 200, headers: {} };
}

type Body = AsyncIterable<Uint8Array> & { destroy(error?: Error): void };

/** The next chunk of a body. The time between two calls does not count: the reader may be slow. */
async function nextWithin(
  patienceMs: number,
  body: Body,
  chunks: AsyncIterator<Uint8Array, void>,
): Promise<IteratorResult<Uint8Array, void>> {
  const patience = setTimeout(() => {
    body.destroy(new Error(`no data was received for ${patienceMs / 1000} s`));
  }, patienceMs);
  try {
    return await chunks.next();
  } finally {
    clearTimeout(patience);
  }
}

function brokenOff(received: number, total: number | undefined, cause: unknown): Error {
  const reason = cause instanceof Error ? cause.message : String(cause);
  const of = total === undefined ? '' : ` of ${total}`;
  const error = new Error(
    `the connection broke after ${received}${of} bytes, and again for the rest (${reason})`,
    { cause },
  );
  return Object.assign(error, { code: 'ECONNRESET' });
}
