import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openStorage } from '../../src/storage/index.ts';
import { S3Storage } from '../../src/storage/s3-storage.ts';
import { startRelay } from '../support/relay.ts';
import { startS3, useS3 } from '../support/s3.ts';

const object = Uint8Array.from({ length: 3_000_000 }, (_, i) => i % 253);

/** A server whose bucket `data` has the object `a/x`. */
async function serverWithObject() {
  const server = await startS3('data');
  useS3(server.port);
  await openStorage('s3://data/a').write('x', object);
  return server;
}

async function failureOf(act: Promise<unknown>): Promise<Error & { code: string; problem: string }> {
  const outcome = await act.then(
    () => new Error('it succeeded'),
    (error: unknown) => error,
  );
  return outcome as Error & { code: string; problem: string };
}

describe('the error states the cause and a fix for', () => {
  test('unknown credentials', async () => {
    const { port } = await serverWithObject();
    useS3(port, { AWS_ACCESS_KEY_ID: 'somebody' });
    const storage = openStorage('s3://data/a');
    for (const act of [() => storage.read('x'), () => storage.list(), () => storage.write('y', object)]) {
      const { code, message } = await failureOf(act());
      expect(code).toBe('ERR_STORAGE_CREDENTIALS');
      expect(message).toContain(`at http://127.0.0.1:${port}: no valid credentials (InvalidAccessKeyId: `);
      expect(message).toContain('Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY');
    }
  });

  test('missing credentials', async () => {
    const { port } = await serverWithObject();
    useS3(port, { AWS_ACCESS_KEY_ID: undefined, HOME: '/nowhere' });
    const { code, message } = await failureOf(openStorage('s3://data/a').read('x'));
    expect(code).toBe('ERR_STORAGE_CREDENTIALS');
    expect(message).toContain('Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY');
  });

  test('a missing bucket', async () => {
    useS3((await startS3('data')).port);
    const storage = openStorage('s3://date/a');
    for (const act of [() => storage.read('x'), () => storage.list(), () => storage.write('y', object)]) {
      const { code, message } = await failureOf(act());
      expect(code).toBe('ERR_STORAGE_BUCKET');
      expect(message).toMatch(/s3:\/\/date\/a.* at http.*no such bucket \(NoSuchBucket: .*Create it/);
    }
  });

  test('an endpoint without a server', async () => {
    const server = await startS3('data');
    await server.kill();
    useS3(server.port);
    const { code, message } = await failureOf(openStorage('s3://data').read('x'));
    expect(code).toBe('ERR_STORAGE_ENDPOINT');
    expect(message).toContain(`ECONNREFUSED 127.0.0.1:${server.port}`);
    expect(message).toContain('Set AWS_ENDPOINT_URL_S3');
  });

  test.each([
    ['a host name that does not resolve', 'http://nowhere.invalid:9000'],
    ['no URL', 'minio:9000/x y'],
  ])('an endpoint that is %s', async (_, endpoint) => {
    useS3(1, { AWS_ENDPOINT_URL_S3: endpoint });
    const { code, message } = await failureOf(openStorage('s3://data').read('x'));
    expect(code).toBe('ERR_STORAGE_ENDPOINT');
    expect(message).toContain(`reading s3://data/x at ${endpoint}: wrong endpoint (`);
  });

  test('a server that is not S3', async () => {
    const web = createServer((_, response) => response.writeHead(404).end('<html>'));
    await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      web.closeAllConnections();
      web.close();
    });
    useS3((web.address() as AddressInfo).port);
    const { code, message } = await failureOf(openStorage('s3://data').read('x'));
    expect(message).toContain('The server is not an S3-compatible service');
    expect(code).toBe('ERR_STORAGE_ENDPOINT');
  });
});

describe('an object whose connection breaks halfway', () => {
  test('is read to its end over another connection', async () => {
    const { port } = await serverWithObject();
    const cut = { limit: 1_000_000, then: (client: Socket) => void client.destroy() };
    useS3(await startRelay(port, cut));
    expect(Buffer.compare(await openStorage('s3://data/a').read('x'), object)).toBe(0);
  });

  test('is an error with the cause if the server was killed', async () => {
    const server = await serverWithObject();
    const relayPort = await startRelay(server.port, { limit: 1_000_000, then: () => void server.kill() });
    useS3(relayPort);
    const { code, message } = await failureOf(openStorage('s3://data/a').read('x'));
    expect(code).toBe('ERR_STORAGE_INTERRUPTED');
    expect(message).toMatch(
      new RegExp(
        `reading s3://data/a/x at http://127.0.0.1:${relayPort}: interrupted .*after \\d+ of 3000000 bytes`,
      ),
    );
  });

  test('is an error within a limit if the server stops answering', async () => {
    const { port } = await serverWithObject();
    useS3(await startRelay(port, { limit: 1_000_000, then: (_, upstream) => void upstream.pause() }));
    const storage = new S3Storage({ bucket: 'data', prefix: 'a', patienceMs: 300 });
    expect(Buffer.compare(await storage.read('x'), object)).toBe(0);
  });
});

test('a write that fails keeps the previous object', async () => {
  const server = await serverWithObject();
  const relayPort = await startRelay(server.port, { limit: 1000, then: (client) => void client.destroy() });
  useS3(relayPort);
  const storage = new S3Storage({ bucket: 'data', prefix: 'a', partBytes: 5 * 2 ** 20 });
  await failureOf(storage.write('x', new Uint8Array(16 * 2 ** 20)));
  useS3(server.port);
  const found = await openStorage('s3://data/a').read('x');
  expect([3_000_000, 16 * 2 ** 20]).toContain(found.length);
});
