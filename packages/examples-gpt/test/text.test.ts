import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { Windows, characterCorpus, readText } from '../src/text.ts';

test('numbers characters by code point, and keeps a tenth for validation', () => {
  const { characters, train, validation } = characterCorpus('baabbaabbc');
  expect(characters).toEqual(['a', 'b', 'c']);
  expect(train).toEqual(BigInt64Array.of(1n, 0n, 0n, 1n, 1n, 0n, 0n, 1n, 1n));
  expect(validation).toEqual(BigInt64Array.of(2n));
});

test('windows follow one another, each with the tokens that follow its own', () => {
  const windows = new Windows(
    BigInt64Array.from({ length: 9 }, (_, i) => BigInt(i)),
    4,
  );
  expect(windows.length).toBe(2);
  expect(windows.at(1)).toEqual({
    input: BigInt64Array.of(4n, 5n, 6n, 7n),
    target: BigInt64Array.of(5n, 6n, 7n, 8n),
  });
});

test('scattered windows lie in the text, and reach all of it', () => {
  const tokens = BigInt64Array.from({ length: 100 }, (_, i) => BigInt(i));
  const windows = Windows.scattered(tokens, 10, { until: 1000 });
  const starts = new Set<number>();
  for (let index = 0; index < windows.length; index += 1) {
    const { input, target } = windows.at(index);
    expect([input.length, target.length, target[0] - input[0]]).toEqual([10, 10, 1n]);
    starts.add(Number(input[0]));
  }
  expect(starts.size).toBe(90);
  const rest = Windows.scattered(tokens, 10, { from: 700, until: 1000 });
  expect(rest.length).toBe(300);
  expect(rest.at(5)).toEqual(windows.at(705));
});

test('reads a compressed file, and a URL', async () => {
  const path = join(temporaryFolder(), 'text.gz');
  writeFileSync(path, gzipSync('to be'));
  expect(await readText(path)).toBe('to be');
  const server = createServer((request, response) => {
    response.statusCode = request.url === '/text' ? 200 : 404;
    response.end('or not');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    expect(await readText(`${url}/text`)).toBe('or not');
    await expect(readText(`${url}/none`)).rejects.toThrow('expected status 200, got 404');
  } finally {
    server.close();
  }
});
