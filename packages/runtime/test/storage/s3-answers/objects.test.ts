import { gzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { S3Storage } from '../../../src/storage/s3-storage.ts';
import { startFaultyS3 } from '../../support/faulty-s3.ts';
import type { Fault, FaultyS3, Operation } from '../../support/faulty-s3.ts';
import { useS3 } from '../../support/s3.ts';
import { plain, raw } from './faults.ts';

const object = Buffer.from(Uint8Array.from({ length: 3_000_000 }, (_, i) => i % 253));
const etag = '"1"';

async function serviceWith(operation: Operation, fault: Fault): Promise<FaultyS3> {
  const s3 = await startFaultyS3();
  onTestFinished(s3.close);
  useS3(s3.port);
  s3.fail(operation, 'job/x', fault);
  return s3;
}

const storageAt = (patienceMs = 5000) =>
  new S3Storage({ bucket: 'data', prefix: 'job', partBytes: 5 * 2 ** 20, patienceMs });

async function inChunks(storage: S3Storage): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of storage.chunks('x')) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Sends half of the object and breaks, and answers the request for the rest with `rest`. */
function halfThen(
  rest: Fault,
  headers: Readonly<Record<string, string | number>> = { 'content-length': object.length },
): Fault {
  return (response, request, attempt) => {
    if (attempt > 1) {
      rest(response, request, attempt);
      return;
    }
    response.writeHead(200, { etag, ...headers });
    response.write(object.subarray(0, 1_500_000), () => setTimeout(() => response.destroy(), 50));
  };
}

/** The rest that was asked for. */
const ranged: Fault = (response, { headers }) => {
  const begin = Number(/^bytes=(\d+)-$/.exec(headers.range!)![1]);
  expect(headers['if-match']).toBe(etag);
  const range = `bytes ${begin}-${object.length - 1}/${object.length}`;
  response.writeHead(206, { etag, 'content-range': range }).end(object.subarray(begin));
};

test.each<[what: string, fault: Fault, expected: Buffer]>([
  ['without a length, in chunks', (response) => void response.writeHead(200, { etag }).end(object), object],
  [
    'without a length, to the end of the connection',
    raw('HTTP/1.1 200 OK\r\nETag: "1"\r\nConnection: close\r\n\r\nabc'),
    Buffer.from('abc'),
  ],
  ['that is empty', plain(200, '', { etag, 'content-length': '0' }), Buffer.alloc(0)],
  ['that is empty, without a length', plain(200, '', { etag }), Buffer.alloc(0)],
  // As stored: files may be kept compressed.
  [
    'that is marked as gzip',
    plain(200, gzipSync('abc'), { etag, 'content-encoding': 'gzip' }),
    gzipSync('abc'),
  ],
  [
    'that is HTML in a bucket',
    plain(200, '<html>', { etag, 'content-type': 'text/html' }),
    Buffer.from('<html>'),
  ],
  ['whose connection breaks once', halfThen(ranged), object],
  ['without a length, whose connection breaks once', halfThen(ranged, {}), object],
  ['from a service without ranges', halfThen(plain(200, object, { etag })), object],
])('reads an object %s', async (_, fault, expected) => {
  await serviceWith('get', fault);
  expect(Buffer.compare(await storageAt().read('x'), expected)).toBe(0);
  await serviceWith('get', fault);
  expect(Buffer.compare(await inChunks(storageAt()), expected)).toBe(0);
});

const part = (range: string, tag = etag) => plain(206, 'abc', { etag: tag, 'content-range': range });

test.each<[what: string, fault: Fault, code: string, problem: string]>([
  [
    'has another version',
    halfThen(part(`bytes 1500000-2999999/3000000`, '"2"')),
    'INTERRUPTED',
    'the object was replaced while it was read',
  ],
  [
    'has another size',
    halfThen(part('bytes 1500000-2999998/2999999')),
    'INTERRUPTED',
    'the object was replaced while it was read',
  ],
  ['begins too late', halfThen(part('bytes 2000000-2999999/3000000')), 'ANSWER', 'got those from 2000000'],
  ['has no range', halfThen(plain(206, 'abc', { etag })), 'ANSWER', 'expected a Content-Range, got none'],
  ['has a range without numbers', halfThen(part('bytes a-b/c')), 'ANSWER', 'got another one'],
  [
    'is refused as replaced',
    halfThen(plain(412, '<Error><Code>PreconditionFailed</Code></Error>')),
    'INTERRUPTED',
    'PreconditionFailed',
  ],
  [
    'is HTML',
    halfThen(plain(200, '<html>', { 'content-type': 'text/html' })),
    'INTERRUPTED',
    'of 3000000 bytes',
  ],
])('an object whose rest %s is an error', async (_, fault, code, problem) => {
  await serviceWith('get', fault);
  const reading = storageAt().read('x');
  await expect(reading).rejects.toMatchObject({ code: `ERR_STORAGE_${code}` });
  await expect(reading).rejects.toThrow(problem);
});

test('an object of more bytes than its first part promised is an error', async () => {
  await serviceWith('get', plain(206, 'abcdef', { etag, 'content-range': 'bytes 0-2/3' }));
  await expect(storageAt().read('x')).rejects.toThrow('expected 3 bytes, got more');
});

test('a reader that pauses for longer than the patience loses nothing', async () => {
  const s3 = await serviceWith('get', (response, request, attempt) => {
    if (request.headers.range) ranged(response, request, attempt);
    else response.writeHead(200, { etag, 'content-length': object.length }).end(object);
  });
  expect(s3.port).toBeGreaterThan(0);
  const chunks: Uint8Array[] = [];
  for await (const chunk of storageAt(200).chunks('x')) {
    if (chunks.length < 5) await new Promise((resolve) => setTimeout(resolve, 600));
    chunks.push(chunk);
  }
  expect(Buffer.compare(Buffer.concat(chunks), object)).toBe(0);
});

test('an upload that takes longer than the patience succeeds', async () => {
  // More than the buffers of the sockets hold, so that the client is busy for most of the time.
  const bytes = Buffer.alloc(48 * 2 ** 20, 3);
  await serviceWith('put', (response, request) => {
    request.pause();
    const timer = setInterval(() => void request.read(Math.min(2 ** 18, request.readableLength)), 20);
    request.on('end', () => {
      clearInterval(timer);
      response.setHeader('ETag', etag).end();
    });
  });
  const patienceMs = 1500;
  const begun = performance.now();
  await new S3Storage({ bucket: 'data', prefix: 'job', patienceMs }).write('x', bytes);
  expect(performance.now() - begun).toBeGreaterThan(2 * patienceMs);
});

test.each<[operation: Operation, what: string, fault: Fault]>([
  ['put', 'no ETag', plain(200)],
  ['part', 'no ETag', plain(200)],
  ['begin', 'no UploadId', plain(200, '<InitiateMultipartUploadResult></InitiateMultipartUploadResult>')],
  [
    'begin',
    'an empty UploadId',
    plain(200, '<InitiateMultipartUploadResult><UploadId> </UploadId></InitiateMultipartUploadResult>'),
  ],
  ['complete', 'no body', plain(200)],
  [
    'complete',
    'spaces and an error',
    plain(200, `   \n<Error><Code>EntityTooSmall</Code><Message>small</Message></Error>`),
  ],
])('a write whose answer to %s has %s fails, and is not retried as a whole', async (operation, _, fault) => {
  await serviceWith(operation, fault);
  const bytes = Buffer.alloc(operation === 'put' ? 10 : 6 * 2 ** 20);
  await expect(storageAt().write('x', bytes)).rejects.toMatchObject({ name: 'StorageError' });
});

test('the error of an upload is kept if aborting it fails too', async () => {
  const s3 = await serviceWith('part', plain(403, '<Error><Code>AccessDenied</Code></Error>'));
  const aborted = s3.fail('abort', 'job/x', plain(200, '<html>', { 'content-type': 'text/html' }));
  await expect(storageAt().write('x', Buffer.alloc(6 * 2 ** 20))).rejects.toThrow('AccessDenied');
  expect(aborted()).toBe(1);
});
