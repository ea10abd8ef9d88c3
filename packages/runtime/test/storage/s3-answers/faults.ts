import type { Fault } from '../../support/faulty-s3.ts';

const html = '<!DOCTYPE html><html><head><title>Log in \x1b[2J</title></head><body></body></html>';

/** A page of a proxy, which has none of S3's headers. */
export function page(status: number, headers: Readonly<Record<string, string>> = {}, body = html): Fault {
  return (response) => {
    response.removeHeader('x-amz-request-id');
    response.writeHead(status, { 'content-type': 'text/html; charset=utf-8', ...headers }).end(body);
  };
}

/** An error of S3, whose message tries to clear the terminal. */
export function refusal(status: number, code: string, headers: Readonly<Record<string, string>> = {}): Fault {
  return (response) => {
    const message = `<Message>\x1b[2J&#27;[31mno &#x9b;31m \u202e</Message>`;
    response.writeHead(status, { 'content-type': 'application/xml', ...headers });
    response.end(`<?xml version="1.0"?>\n<Error><Code>${code}</Code>${message}</Error>`);
  };
}

export function plain(
  status: number,
  body: string | Buffer = '',
  headers: Readonly<Record<string, string>> = {},
): Fault {
  return (response) => void response.writeHead(status, headers).end(body);
}

/** Bytes in place of an answer of HTTP. */
export function raw(text: string, then: 'end' | 'reset' = 'end'): Fault {
  return ({ socket }) => {
    if (then === 'end') socket!.end(text, 'latin1');
    else socket!.write(text, 'latin1', () => void socket!.resetAndDestroy());
  };
}

const otherXml = '<?xml version="1.0"?><LocationConstraint>eu</LocationConstraint>';

/** Answers of servers by name. */
export const faults = {
  '200 HTML': page(200),
  '200 HTML with an ETag': page(200, { etag: '"1"' }),
  '200 HTML as text/plain': page(200, { 'content-type': 'text/plain' }),
  '200 JSON': plain(200, '{"ok":true}', { 'content-type': 'application/json' }),
  '200 empty': plain(200),
  '200 other XML': plain(200, otherXml),
  '200 truncated XML': plain(200, '<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>jo'),
  '200 Error': refusal(200, 'InternalError'),
  '204': plain(204),
  '301 PermanentRedirect': refusal(301, 'PermanentRedirect'),
  '302 with Location': page(302, { location: 'https://login.example.org/?next=\x9b' }),
  '307 without Location': plain(307),
  '307 to itself': (response, request) => void response.writeHead(307, { location: request.url! }).end(),
  '304': plain(304),
  '400 InvalidRequest': refusal(400, 'InvalidRequest'),
  '400 no XML': plain(400, 'Bad request'),
  '401': plain(401),
  '401 HTML': page(401),
  '403 AccessDenied': refusal(403, 'AccessDenied'),
  '403 HTML': page(403),
  '403 RequestTimeTooSkewed': refusal(403, 'RequestTimeTooSkewed'),
  '404 NoSuchBucket': refusal(404, 'NoSuchBucket'),
  '404 NoSuchKey': refusal(404, 'NoSuchKey'),
  '404 HTML': page(404),
  '404 empty': plain(404),
  '405 MethodNotAllowed': refusal(405, 'MethodNotAllowed'),
  '407 HTML': page(407),
  '409 OperationAborted': refusal(409, 'OperationAborted'),
  '411 MissingContentLength': refusal(411, 'MissingContentLength'),
  '412 PreconditionFailed': refusal(412, 'PreconditionFailed'),
  '416 InvalidRange': refusal(416, 'InvalidRange'),
  '429 SlowDown': refusal(429, 'SlowDown'),
  '429 empty': plain(429),
  '500 InternalError': refusal(500, 'InternalError'),
  '501 NotImplemented': refusal(501, 'NotImplemented'),
  '502 HTML': page(502),
  '503 with Retry-After': refusal(503, 'SlowDown', { 'retry-after': '1' }),
  '507': plain(507),
  '599 of an unknown code': refusal(599, 'New.Code'),
  'a code with escapes': refusal(400, 'Evil\x1b[2J'),
  '10 MB of error text': plain(400, Buffer.alloc(10_000_000, 'x\x1b')),
  'no HTTP': raw('SSH-2.0-OpenSSH_9.2\r\n'),
  'no answer': ({ socket }) => void socket!.end(),
  'a reset before the answer': raw('', 'reset'),
  'a reset in the headers': raw('HTTP/1.1 200 OK\r\nContent-Le', 'reset'),
  'a reset in the body': raw('HTTP/1.1 200 OK\r\nETag: "1"\r\nContent-Length: 1000\r\n\r\n<ListBu', 'reset'),
  'a body that is too short': raw('HTTP/1.1 200 OK\r\nETag: "1"\r\nContent-Length: 1000\r\n\r\n<ListBu'),
  'two lengths': raw('HTTP/1.1 200 OK\r\nETag: "1"\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'),
  'a negative length': raw('HTTP/1.1 200 OK\r\nETag: "1"\r\nContent-Length: -1\r\n\r\nab'),
  'a length of 2^60': raw(`HTTP/1.1 200 OK\r\nETag: "1"\r\nContent-Length: ${2n ** 60n}\r\n\r\nab`),
  'no gzip as gzip': plain(200, 'no gzip', { 'content-encoding': 'gzip', etag: '"1"' }),
  silence: () => undefined,
  'a body that stalls': (response) =>
    void response.writeHead(200, { etag: '"1"' }).write('<ListBucketResult>'),
} satisfies Record<string, Fault>;
