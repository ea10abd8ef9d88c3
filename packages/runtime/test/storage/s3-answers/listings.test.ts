import { gzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { openStorage } from '../../../src/storage/index.ts';
import { S3Storage } from '../../../src/storage/s3-storage.ts';
import { listing, startFaultyS3 } from '../../support/faulty-s3.ts';
import type { Fault } from '../../support/faulty-s3.ts';
import { useS3 } from '../../support/s3.ts';
import { plain } from './faults.ts';

async function listingWith(fault: Fault): Promise<{ names: Promise<string[]>; requests: () => number }> {
  const s3 = await startFaultyS3();
  onTestFinished(s3.close);
  useS3(s3.port);
  const requests = s3.fail('list', '', fault);
  const names = openStorage('s3://data/job')
    .list()
    .then((objects) => objects.map(({ name }) => name));
  return { names, requests };
}

const next = (token: string) => `<NextContinuationToken>${token}</NextContinuationToken>`;
const page = (keys: Parameters<typeof listing>[0], token = '') =>
  plain(200, listing(keys, token === '' ? '' : next(token)));

test.each<[what: string, fault: Fault, problem: string]>([
  ['the same page again and again', page([['job/a', 1]], 'one'), 'got the same one again'],
  ['the same empty page again', page([], 'one'), 'got the same one again'],
  [
    'the same keys with new tokens',
    (...[response, request, attempt]) => {
      page([['job/a', 1]], `token-${attempt}`)(response, request, attempt);
    },
    'got the same one again',
  ],
  [
    'a truncated page without a token',
    plain(200, '<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>'),
    'expected a NextContinuationToken',
  ],
  ['a key outside of the prefix', page([['other/a\x1b[2J', 1]]), 'got "other/a\\x1b[2J"'],
  [
    'no key',
    plain(200, listing([]).replace('</IsTruncated>', '</IsTruncated><Contents></Contents>')),
    'got none',
  ],
  ['no page mark', plain(200, '<ListBucketResult></ListBucketResult>'), 'the element IsTruncated'],
  ['another page mark', plain(200, listing([]).replace('false', 'no')), 'the element IsTruncated'],
  ['a size without digits', page([['job/a', 'many']]), 'got NaN'],
  ['a negative size', page([['job/a', -1]]), 'got -1'],
  ['a size of 2^60', page([['job/a', String(2n ** 60n)]]), 'got 1152921504606847000'],
  [
    'a key that cannot be decoded',
    plain(
      200,
      listing([['job/%zz', 1]]).replace(
        '</ListBucketResult>',
        '<EncodingType>url</EncodingType></ListBucketResult>',
      ),
    ),
    'got none',
  ],
  ['40 MB', plain(200, listing([['job/'.padEnd(40_000_000, 'a'), 1]])), 'expected an answer of at most'],
])('a listing with %s is an error', async (_, fault, problem) => {
  const { names } = await listingWith(fault);
  await expect(names).rejects.toMatchObject({ code: 'ERR_STORAGE_ANSWER' });
  await expect(names).rejects.toThrow(
    /^listing s3:\/\/data\/job at http:.*: invalid answer \(.*\)\. The answer is incomplete or not as S3/,
  );
  await expect(names).rejects.toThrow(problem);
});

test.each<[what: string, text: string | Buffer, headers: Record<string, string>, names: string[]]>([
  ['no objects', listing([]), {}, []],
  [
    'a namespace',
    listing([['job/a', 1]]).replace(
      '<ListBucketResult>',
      '<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">',
    ),
    {},
    ['a'],
  ],
  [
    'a comment and a byte order mark',
    `\ufeff${listing([['job/a', 1]]).replace('<ListBucketResult>', '<!-- a --><!-- b -->\n<ListBucketResult>')}\n`,
    {},
    ['a'],
  ],
  ['a body compressed by gzip', gzipSync(listing([['job/a', 1]])), { 'content-encoding': 'gzip' }, ['a']],
  [
    'encoded keys',
    listing([['job%2Fa%20b+c%2B%C3%A9', 1]]).replace(
      '</ListBucketResult>',
      '<EncodingType>url</EncodingType></ListBucketResult>',
    ),
    {},
    ['a b c+é'],
  ],
  ['keys that look encoded', listing([['job/a%20b+c', 1]]), {}, ['a%20b+c']],
])('a listing with %s is read', async (_, text, headers, expected) => {
  const { names } = await listingWith(plain(200, text, headers));
  expect(await names).toEqual(expected);
});

test('a listing of several pages, one of them empty, has all keys', async () => {
  const pages = [page([['job/a', 1]], 'one'), page([], 'two'), page([['job/b', 2]])];
  const { names, requests } = await listingWith((response, request, attempt) => {
    pages[attempt - 1](response, request, attempt);
  });
  expect(await names).toEqual(['a', 'b']);
  expect(requests()).toBe(3);
});

test('a listing that trickles in is an error after ten times the patience', async () => {
  const s3 = await startFaultyS3();
  onTestFinished(s3.close);
  useS3(s3.port);
  s3.fail('list', '', (response) => {
    response.writeHead(200);
    const timer = setInterval(() => response.write(' '), 50);
    response.on('close', () => {
      clearInterval(timer);
    });
  });
  const storage = new S3Storage({ bucket: 'data', prefix: 'job', patienceMs: 500 });
  await expect(storage.list()).rejects.toThrow('the answer was not complete after 5 s');
});
