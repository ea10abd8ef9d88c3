import type * as S3 from '@aws-sdk/client-s3';
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import { homeFolder } from '@ringrun/native';
import { AnswerError, incomplete, problemOfAnswer } from './s3-answers.ts';

/** A client whose answers are checked. */
export interface Connection {
  client: S3.S3Client;
  /** The client's module, loaded on demand because that takes 0.2 s. */
  s3: typeof S3;
}

/**
 * A client for the endpoint, region and credentials of the environment.
 *
 * @param patienceMs milliseconds without data after which a request fails
 */
export async function connect(patienceMs: number): Promise<Connection> {
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
    // Not `requestTimeout`, which includes the upload: a large part on a slow link takes longer than that.
    requestHandler: { connectionTimeout: 5000, socketTimeout: patienceMs },
    // Not all services support the checksums that became the client's default in 2025.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  });
  client.middlewareStack.add(
    (next, { commandName = '' }) =>
      async (args) => {
        const result = await next(args);
        await checkAnswer(commandName, result.response as Response, patienceMs);
        return result;
      },
    // Before the client reads the body, and once for each attempt.
    { step: 'deserialize', priority: 'low', name: 'checkAnswer' },
  );
  return { client, s3 };
}

/** The endpoint in the environment; undefined for Amazon's. */
export function endpointOf(environment: NodeJS.ProcessEnv): string | undefined {
  return environment.AWS_ENDPOINT_URL_S3 || environment.AWS_ENDPOINT_URL || undefined;
}

/** An answer as the client's HTTP handler returns it. */
interface Response {
  statusCode: number;
  headers: Record<string, string>;
  body: AsyncIterable<Uint8Array> & { destroy(error?: Error): void };
}

/** Bytes of an error that are read. */
const maxErrorBytes = 2 ** 16;

/** Bytes of a page of 1,000 keys that are read; escaped keys of 1,024 bytes have 6 MiB. */
const maxAnswerBytes = 2 ** 25;

/** The time for an answer other than an object, in multiples of the patience: a body may trickle in. */
const answerPatience = 10;

/** @throws AnswerError; the error of the connection */
async function checkAnswer(command: string, response: Response, patienceMs: number): Promise<void> {
  const { statusCode: status, headers } = response;
  const isObject = command === 'GetObjectCommand' && (status === 200 || status === 206);
  const bytes = isObject ? undefined : await bytesOf(response, patienceMs);
  const text = bytes && Buffer.from(bytes).toString('utf8');
  const error = problemOfAnswer(command, { status, headers, text });
  if (error === undefined) {
    // The client does not accept a byte order mark.
    if (text !== undefined) (response as { body: unknown }).body = Buffer.from(text.replace(/^\uFEFF/, ''));
    return;
  }
  if (isObject) response.body.destroy();
  throw withResponse(error, response);
}

/** For the client's retries and its redirects to other regions. Hidden, so that printed errors are short. */
function withResponse(error: AnswerError, response: Response): AnswerError {
  return Object.defineProperty(error, '$response', { value: response, enumerable: false });
}

/** The body of an answer that is not an object. An error's is cut. */
async function bytesOf(response: Response, patienceMs: number): Promise<Uint8Array> {
  const { statusCode: status, headers, body } = response;
  const max = status >= 300 ? maxErrorBytes : maxAnswerBytes;
  const invalid = (what: string) =>
    withResponse(
      new AnswerError('UnexpectedAnswer', what, { status, headers }, { meaning: incomplete }),
      response,
    );
  const withinMs = answerPatience * patienceMs;
  const late = invalid(`the answer was not complete after ${withinMs / 1000} s`);
  const deadline = setTimeout(() => {
    body.destroy(late);
  }, withinMs);
  try {
    const chunks: Uint8Array[] = [];
    let length = 0;
    for await (const chunk of body) {
      chunks.push(chunk);
      length += chunk.length;
      if (length > max) break;
    }
    if (length > max && max === maxAnswerBytes)
      throw invalid(`expected an answer of at most ${max} bytes, got more`);
    return decoded(Buffer.concat(chunks).subarray(0, max), headers['content-encoding'], invalid);
  } finally {
    clearTimeout(deadline);
  }
}

/** Proxies compress answers unasked. */
const decoders: Readonly<Partial<Record<string, typeof gunzipSync>>> = {
  gzip: gunzipSync,
  'x-gzip': gunzipSync,
  deflate: inflateSync,
  br: brotliDecompressSync,
};

function decoded(bytes: Buffer, encoding: string | undefined, invalid: (what: string) => Error): Uint8Array {
  const decode = decoders[encoding?.toLowerCase() ?? ''];
  if (decode === undefined || bytes.length === 0) return bytes;
  try {
    return decode(bytes, { maxOutputLength: maxAnswerBytes });
  } catch (error) {
    throw invalid(
      `expected a body compressed by ${String(encoding)}, got another one (${(error as Error).message})`,
    );
  }
}
