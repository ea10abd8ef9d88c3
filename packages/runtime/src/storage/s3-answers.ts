import { printable } from '@ringrun/core';
import type { StorageProblem } from './storage-error.ts';

/*
 * Decides if an answer is one that an S3 service gives. A proxy, a login page or a broken gateway may answer any request
 * with any status: an answer that S3 does not give must be neither an empty bucket nor a successful write.
 */

/** An HTTP answer. */
export interface Answer {
  status: number;
  /** By name in lower case. */
  headers: Readonly<Record<string, string | undefined>>;
  /** The body, up to a limit. Undefined for the bytes of an object, which are not read here. */
  text: string | undefined;
}

/** Kind of failure and what to do. */
export type Meaning = readonly [problem: StorageProblem, cure: string];

export const endpointCure =
  'Set AWS_ENDPOINT_URL_S3 (or AWS_ENDPOINT_URL) to the address of the S3-compatible service, such as http://minio:9000 (default: Amazon S3)';

/**
 * An answer that refuses the request, or that S3 does not give. All texts of the server are printable and short. The
 * fields that begin with `$` are those that the client's retries read.
 */
export class AnswerError extends Error {
  readonly $metadata: { httpStatusCode: number; requestId: string | undefined };
  readonly $fault: 'client' | 'server';
  /** Set if a second attempt may succeed, whatever the status. */
  readonly $retryable: { throttling: boolean } | undefined;
  /** Undefined if `name` is an error code of S3. */
  readonly meaning: Meaning | undefined;
  /** Time of the service in an answer about this host's clock, from which the client corrects its own. */
  readonly ServerTime: string | undefined;

  constructor(
    name: string,
    message: string,
    { status, headers }: Pick<Answer, 'status' | 'headers'>,
    more: { meaning?: Meaning; isRetryable?: boolean; serverTime?: string | undefined } = {},
  ) {
    super(message);
    this.name = name;
    const requestId = headers['x-amz-request-id'] ?? headers['x-minio-request-id'];
    this.$metadata = { httpStatusCode: status, requestId: requestId && printable(requestId, 100) };
    this.$fault = status < 500 ? 'client' : 'server';
    this.$retryable = more.isRetryable ? { throttling: false } : undefined;
    this.meaning = more.meaning;
    this.ServerTime = more.serverTime;
  }
}

/** The answers to an operation. */
interface Expectation {
  statuses: readonly number[];
  /** Root element of the XML body. Default: no XML. */
  root?: string;
  /** Elements of the XML body, with their patterns. */
  elements?: Readonly<Record<string, RegExp>>;
  /** S3 names the version of each object that it stores or sends. */
  hasETag?: boolean;
}

const notEmpty = /./s;

/** By name of the client's command. */
const expectations: Readonly<Partial<Record<string, Expectation>>> = {
  ListObjectsV2Command: {
    statuses: [200],
    root: 'ListBucketResult',
    elements: { IsTruncated: /^(true|false)$/ },
  },
  GetObjectCommand: { statuses: [200, 206], hasETag: true },
  PutObjectCommand: { statuses: [200], hasETag: true },
  UploadPartCommand: { statuses: [200], hasETag: true },
  DeleteObjectCommand: { statuses: [204, 200] },
  AbortMultipartUploadCommand: { statuses: [204, 200] },
  CreateMultipartUploadCommand: {
    statuses: [200],
    root: 'InitiateMultipartUploadResult',
    elements: { UploadId: notEmpty },
  },
  CompleteMultipartUploadCommand: { statuses: [200], root: 'CompleteMultipartUploadResult' },
};

/** The error for an answer that refuses the request or is not one of S3; undefined for an answer to use. */
export function problemOfAnswer(command: string, answer: Answer): AnswerError | undefined {
  const refusal = refusalIn(answer);
  if (refusal !== undefined) return refusal;
  const expected = expectations[command];
  if (answer.status >= 300 || expected?.statuses.includes(answer.status) === false) return strange(answer);
  return expected && unexpected(expected, answer);
}

/** The error in an answer of S3, which may have any status: a multipart upload that fails late has 200. */
function refusalIn(answer: Answer): AnswerError | undefined {
  const { text = '' } = answer;
  if (rootOf(text) !== 'Error') return undefined;
  const code = elementOf(text, 'Code');
  if (code === undefined || !/^[A-Za-z][\w.-]{0,99}$/.test(code)) return undefined;
  const isRetryable = passing.test(code);
  const message = printable(elementOf(text, 'Message') ?? 'no message', maxText);
  const serverTime = elementOf(text, 'ServerTime');
  return new AnswerError(code, message, answer, { isRetryable, serverTime });
}

/** Errors of S3 that pass. */
const passing = /^(InternalError|SlowDown|ServiceUnavailable|RequestTimeout|OperationAborted)$/;

/** The error for an answer with a status that does not tell success, and without an error of S3. */
function strange(answer: Answer): AnswerError {
  const { status } = answer;
  const got = describe(answer);
  const error = (meaning: Meaning) => new AnswerError(strangeName, got, answer, { meaning });
  if (status === 507) return error(['full', 'Free space in the bucket, or raise its quota']);
  if (status === 429) return error(tooManyRequests);
  if (status >= 500) return error(['failed', `Check the service, and run again${gatewayOf(answer)}`]);
  if ((status === 401 || status === 403) && !isHtml(answer)) return error(notAllowed);
  return error(notS3(answer));
}

export const notAllowed: Meaning = [
  'no permission',
  'Grant s3:ListBucket on the bucket, and s3:GetObject, s3:PutObject and s3:DeleteObject on its objects',
];

export const tooManyRequests: Meaning = [
  'failed',
  'The service limits the rate of requests; run again later, or with fewer processes',
];

/** Name of errors for answers without an error code of S3. */
const strangeName = 'UnexpectedAnswer';

function notS3(answer: Answer): Meaning {
  const { location } = answer.headers;
  const page =
    location !== undefined && answer.status >= 300
      ? '. A proxy or a login page redirects the request; log in, or bypass it'
      : isHtml(answer)
        ? '. Its answer is HTML: a proxy or a login page answers in its place; log in, or bypass it'
        : '';
  return ['wrong endpoint', `The server is not an S3-compatible service${page}. ${endpointCure}`];
}

function gatewayOf(answer: Answer): string {
  return isHtml(answer) ? '. The answer is HTML, from a gateway or a proxy in front of the service' : '';
}

/** The error for an answer whose status tells success, but which is not the expected one. */
function unexpected(expected: Expectation, answer: Answer): AnswerError | undefined {
  const { root, elements = {}, hasETag = false } = expected;
  const { headers, text = '' } = answer;
  const error = (what: string, meaning: Meaning, isRetryable = false) =>
    new AnswerError(strangeName, `expected ${what}, got ${describe(answer)}`, answer, {
      meaning,
      isRetryable,
    });
  if (root === undefined && isHtml(answer) && !isObjectOfS3(answer)) return error('no HTML', notS3(answer));
  if (root === undefined && text.trim() !== '') return error('no body', notS3(answer));
  if (hasETag && !headers.etag) return error('the header ETag', notS3(answer));
  if (root === undefined) return undefined;
  if (rootOf(text) !== root) return error(`XML with the root ${root}`, notS3(answer));
  if (!new RegExp(`</(?:[\\w-]+:)?${root}\\s*>$`).test(text.trimEnd().slice(-200)))
    return error(`XML that ends with </${root}>`, incomplete, true);
  const wrong = Object.entries(elements).find(([name, value]) => !value.test(elementOf(text, name) ?? ''));
  return wrong && error(`XML with the element ${wrong[0]}`, incomplete, true);
}

export const incomplete: Meaning = [
  'invalid answer',
  'The answer is incomplete or not as S3 defines it: check the service and proxies in front of it, and run again',
];

/** An object may be HTML, but a login page does not have S3's headers. */
function isObjectOfS3({ headers, text }: Answer): boolean {
  return (
    text === undefined &&
    Object.keys(headers).some((name) => /^x-(amz|goog|minio|oss|obs|cos|ceph)-/.test(name))
  );
}

function isHtml({ headers, text }: Answer): boolean {
  return (
    /\bx?html\b/i.test(headers['content-type'] ?? '') ||
    /^\W*(!doctype\s+html|html|head|body)\b/i.test(text ?? '')
  );
}

/** Characters of a server's text that messages show. */
const maxText = 300;

/** Characters of an unknown body that messages show. */
const maxExcerpt = 80;

/** `HTTP 302 to https://login.example.org/, text/html: "<html>…"`. */
function describe({ status, headers, text }: Answer): string {
  const { location, 'content-type': type } = headers;
  const to = location === undefined ? '' : ` to ${printable(location, maxText)}`;
  const kind = type === undefined ? '' : `, ${printable(type, 100)}`;
  return `HTTP ${status}${to}${kind}${excerptOf(text)}`;
}

function excerptOf(text: string | undefined): string {
  if (text === undefined) return '';
  const excerpt = text.slice(0, 1000).trim().replaceAll(/\s+/g, ' ');
  return excerpt === '' ? ' without a body' : `: "${printable(excerpt, maxExcerpt)}"`;
}

/** Name of the root element without its namespace prefix; undefined if the text is not XML. */
function rootOf(text: string): string | undefined {
  return /^\uFEFF?\s*(?:<\?xml[^>]*\?>\s*)?(?:<!--(?:(?!-->).)*-->\s*)*<(?:[\w-]+:)?([\w-]+)[\s/>]/s.exec(
    text,
  )?.[1];
}

/** Text of the first element with this name. */
function elementOf(text: string, name: string): string | undefined {
  const found = new RegExp(`<(?:[\\w-]+:)?${name}>([^<]*)</`).exec(text)?.[1];
  return found === undefined ? undefined : withoutEntities(found).trim();
}

const entities: Readonly<Partial<Record<string, string>>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
};

function withoutEntities(text: string): string {
  return text.replaceAll(
    /&(?:#x([\da-f]{1,6})|#(\d{1,7})|(\w+));/gi,
    (whole: string, ...groups: unknown[]) => {
      const [hex, decimal, name] = groups as (string | undefined)[];
      if (name !== undefined) return entities[name] ?? whole;
      const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
      return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
    },
  );
}
