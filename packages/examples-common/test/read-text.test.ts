import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { readText } from '../src/read-text.ts';

test('reads a compressed file, and a URL', async () => {
  const path = join(temporaryFolder(), 'text.gz');
  writeFileSync(path, gzipSync('to be'));
  expect(await readText(path)).toBe('to be');
  const server = createServer((request, response) => {
    response.statusCode = request.url === '/none' ? 404 : 200;
    response.end(request.url === '/login' ? '<!DOCTYPE html><html>' : 'or not');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    expect(await readText(`${url}/text`)).toBe('or not');
    await expect(readText(`${url}/none`)).rejects.toThrow('expected status 200, got 404');
    await expect(readText(`${url}/login`)).rejects.toThrow(
      'got a web page, such as the login page of a proxy',
    );
  } finally {
    server.close();
  }
});
