import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What a request asks for. */
export type Operation = 'list' | 'get' | 'put' | 'begin' | 'part' | 'complete' | 'abort' | 'delete';

/** Answers in place of the service. `attempt` counts the requests that had this fault, from 1. */
export type Fault = (response: ServerResponse, request: IncomingMessage, attempt: number) => void;

export interface FaultyS3 {
  port: number;
  /** Objects of the bucket by key. */
  objects: Map<string, Buffer>;
  /** An operation has a fault for keys or prefixes that begin with `key`. Returns the number of requests so far. */
  fail: (operation: Operation, key: string, fault: Fault) => () => number;
  close: () => void;
}

/** The text of a page of a listing. `next`: the elements of a page that is not the last one. */
export function listing(keys: readonly (readonly [key: string, size: number | string])[], next = ''): string {
  const contents = keys.map(([key, size]) => `<Contents><Key>${key}</Key><Size>${size}</Size></Contents>`);
  const isTruncated =
    next === '' ? '<IsTruncated>false</IsTruncated>' : `<IsTruncated>true</IsTruncated>${next}`;
  return `<?xml version="1.0"?>\n<ListBucketResult>${isTruncated}${contents.join('')}</ListBucketResult>`;
}

/** A service that keeps one bucket in memory and answers as S3 does, except where it has a fault. */
export async function startFaultyS3(): Promise<FaultyS3> {
  const objects = new Map<string, Buffer>();
  const parts = new Map<string, Buffer>();
  const faults: { operation: Operation; key: string; fault: Fault; count: number }[] = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url!, 'http://s3');
    const operation = operationOf(request.method!, url);
    const key = keyOf(operation, url);
    // A C1 control character: HTTP allows it in headers, and terminals interpret it.
    response.setHeader('x-amz-request-id', 'REQ\x9b7');
    const faulty = faults.find((one) => one.operation === operation && key.startsWith(one.key));
    if (faulty !== undefined) {
      request.resume();
      faulty.fault(response, request, ++faulty.count);
      return;
    }
    void bodyOf(request).then(
      (body) => {
        answer(operation, key, url, body, response);
      },
      () => response.destroy(),
    );
  });
  const answer = (operation: Operation, key: string, url: URL, body: Buffer, response: ServerResponse) => {
    const etag = `"${createHash('md5').update(body).digest('hex')}"`;
    const part = `${key} ${url.searchParams.get('partNumber')}`;
    const object = objects.get(key);
    const answers: Record<Operation, () => unknown> = {
      list: () => {
        const found = [...objects].filter(([name]) => name.startsWith(key)).sort();
        response.end(listing(found.map(([name, { length }]) => [name, length])));
      },
      get: () =>
        object === undefined
          ? response.writeHead(404).end('<Error><Code>NoSuchKey</Code><Message>none</Message></Error>')
          : response.setHeader('ETag', '"e"').end(object),
      put: () => {
        objects.set(key, body);
        response.setHeader('ETag', etag).end();
      },
      begin: () =>
        response.end('<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>'),
      part: () => {
        parts.set(part, body);
        response.setHeader('ETag', etag).end();
      },
      complete: () => {
        const all = [...parts].filter(([name]) => name.startsWith(`${key} `)).sort();
        objects.set(key, Buffer.concat(all.map(([, bytes]) => bytes)));
        response.end('<CompleteMultipartUploadResult><ETag>"e-2"</ETag></CompleteMultipartUploadResult>');
      },
      abort: () => response.writeHead(204).end(),
      delete: () => {
        objects.delete(key);
        response.writeHead(204).end();
      },
    };
    answers[operation]();
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    objects,
    fail: (operation, key, fault) => {
      const faulty = { operation, key, fault, count: 0 };
      faults.push(faulty);
      return () => faulty.count;
    },
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** The key, or the prefix of a listing. */
function keyOf(operation: Operation, { pathname, searchParams }: URL): string {
  if (operation === 'list') return searchParams.get('prefix') ?? '';
  return decodeURIComponent(pathname).replace(/^\/[^/]*\/?/, '');
}

function operationOf(method: string, { searchParams }: URL): Operation {
  if (method === 'GET') return searchParams.has('list-type') ? 'list' : 'get';
  if (method === 'POST') return searchParams.has('uploads') ? 'begin' : 'complete';
  if (method === 'PUT') return searchParams.has('partNumber') ? 'part' : 'put';
  return searchParams.has('uploadId') ? 'abort' : 'delete';
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
