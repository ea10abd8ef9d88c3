import type { RequestListener } from 'node:http';
import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { DownloadError, downloadFiles } from '../../../src/data/datasets/download.ts';
import type { Downloader, RemoteFile } from '../../../src/data/datasets/download.ts';
import { deadMirror, startMirror } from '../../support/mirror.ts';

const contents = new Map(['one', 'two'].map((name) => [name, Buffer.from(`${name} `.repeat(5000))]));
const files: RemoteFile[] = Array.from(contents, ([name, content]) => ({
  name: `${name}.gz`,
  maxBytes: content.length,
  verify(bytes) {
    const found = gunzipSync(bytes, { maxOutputLength: content.length });
    if (!found.equals(content)) throw new Error('its contents differ');
  },
}));
const zipped = (name: string) => gzipSync(contents.get(name)!);
const nameIn = (url = '') => url.replace('/mnist/', '').replace('.gz', '');

const good: RequestListener = ({ url }, response) => {
  response.end(zipped(nameIn(url)));
};

async function download(
  mirrors: string[],
  options: Partial<Downloader> = {},
): Promise<Map<string, Uint8Array>> {
  const progress = { begin() {}, advance() {}, end() {} };
  const received = new Map<string, Uint8Array>();
  const downloads = downloadFiles(files, { mirrors, timeoutMs: 20_000, progress, ...options });
  for await (const { file, bytes } of downloads) received.set(file.name, bytes);
  return received;
}

function expectAll(received: Map<string, Uint8Array>): void {
  expect([...received.keys()]).toEqual(['one.gz', 'two.gz']);
  for (const [name, gzipped] of received)
    expect(Buffer.compare(gzipped, zipped(name.replace('.gz', '')))).toBe(0);
}

test('downloads from the first mirror and reports every byte as progress', async () => {
  const [first, second] = [await startMirror(good), await startMirror(good)];
  const told: [what: string, bytes?: number][] = [];
  const progress = {
    begin(url: URL, bytes: number) {
      told.push([url.href, bytes]);
    },
    advance(bytes: number) {
      told.push(['advance', bytes]);
    },
    end() {
      told.push(['end']);
    },
  };
  expectAll(await download([first.url, second.url], { progress }));
  expect(first.requests).toEqual(['/mnist/one.gz', '/mnist/two.gz']);
  expect(second.requests).toEqual([]);
  const sizes = files.map(({ name }) => zipped(nameIn(name)).length);
  expect(told.filter(([what]) => what.startsWith('http'))).toEqual([
    [`${first.url}one.gz`, sizes[0]],
    [`${first.url}two.gz`, sizes[1]],
  ]);
  const advanced = told.filter(([what]) => what === 'advance').reduce((sum, [, bytes]) => sum + bytes!, 0);
  expect(advanced).toBe(sizes[0] + sizes[1]);
  expect(told.filter(([what]) => what === 'end')).toHaveLength(2);
});

test('accepts a base URL without a trailing slash and calls the file’s own check', async () => {
  const otherwise = (name: string) => gzipSync(contents.get(name)!, { level: 1, memLevel: 1 });
  expect(Buffer.compare(otherwise('one'), zipped('one'))).not.toBe(0);
  const { url } = await startMirror((request, response) => response.end(otherwise(nameIn(request.url))));
  expect([...(await download([url.slice(0, -1)])).keys()]).toEqual(['one.gz', 'two.gz']);
});

describe('skips a mirror from then on if it', () => {
  test.each<[string, RequestListener, string]>([
    ['has no such file', (_, response) => response.writeHead(404).end('<html>'), 'HTTP 404 Not Found'],
    ['sends other content', (_, response) => response.end(gzipSync('three')), 'its contents differ'],
    [
      'sends no gzip data',
      (_, response) => response.end('<html>'),
      'incorrect header check; it is a web page or XML',
    ],
    [
      'sends a truncated file',
      ({ url }, response) => response.end(zipped(nameIn(url)).subarray(0, -9)),
      'unexpected end of file',
    ],
    [
      'ends the connection too early',
      ({ url }, response) => {
        response.writeHead(200, { 'content-length': 1000 });
        response.write(zipped(nameIn(url)).subarray(0, 9), () => {
          response.destroy();
        });
      },
      'other side closed',
    ],
    ['sends too much', (_, response) => response.end(Buffer.alloc(100_000)), 'it is longer than 20000 bytes'],
    [
      'sends data that unpacks to too much',
      (_, response) => response.end(gzipSync(Buffer.alloc(100_000))),
      'larger than',
    ],
  ])('%s', async (_, bad, reason) => {
    const broken = await startMirror(bad);
    const working = await startMirror(good);
    expectAll(await download([broken.url, working.url]));
    expect(broken.requests).toEqual(['/mnist/one.gz']);

    await expect(download([broken.url])).rejects.toThrow(DownloadError);
    await expect(download([broken.url])).rejects.toThrow(`${broken.url}one.gz: `);
    await expect(download([broken.url])).rejects.toThrow(reason);
  });

  test('fails in the middle of the files', async () => {
    const broken = await startMirror((request, response) => {
      if (nameIn(request.url) === 'one') good(request, response);
      else response.writeHead(503).end();
    });
    const working = await startMirror(good);
    expectAll(await download([broken.url, working.url]));
    expect(working.requests).toEqual(['/mnist/two.gz']);
  });

  test.each<[string, RequestListener]>([
    ['does not answer', () => undefined],
    ['stops sending', (_, response) => response.writeHead(200, { 'content-length': 50 }).write('abc')],
  ])('%s', async (_, hang) => {
    const silent = await startMirror(hang);
    const working = await startMirror(good);
    expectAll(await download([silent.url, working.url], { timeoutMs: 1000 }));
    expect(silent.requests).toEqual(['/mnist/one.gz']);
    await expect(download([silent.url], { timeoutMs: 1000 })).rejects.toThrow('no data for 1 s');
  });

  test('does not exist', async () => {
    const dead = await deadMirror();
    expectAll(await download([dead, (await startMirror(good)).url]));
    await expect(download([dead])).rejects.toThrow(`${dead}one.gz: connect ECONNREFUSED 127.0.0.1:`);
  });
});

test('a slow mirror does not time out', async () => {
  // Takes longer than its timeout in total, but is never silent for that long.
  let ticks = 0;
  const { url } = await startMirror((request, response) => {
    if (nameIn(request.url) === 'two') {
      good(request, response);
      return;
    }
    const gzipped = zipped('one');
    let sent = 0;
    const drip = setInterval(() => {
      const isLast = ++ticks === 12;
      const next = isLast ? gzipped.length : sent + 2;
      response.write(gzipped.subarray(sent, next));
      sent = next;
      if (!isLast) return;
      clearInterval(drip);
      response.end();
    }, 100);
  });
  expectAll(await download([url], { timeoutMs: 1000 }));
  expect(ticks).toBe(12);
});

test('throws if no mirror is configured', async () => {
  await expect(download([])).rejects.toThrow('no mirror is configured');
});
