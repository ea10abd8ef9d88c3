import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll } from 'vitest';

/** A server with the part of the hub's API that downloads use. */
export interface HubServer {
  readonly url: string;
  /** Requested paths, in order. */
  readonly requests: string[];
}

/**
 * Serves one model.
 *
 * @param commit of its branch main
 * @param files by name
 */
export async function hubServer(
  model: string,
  commit: string,
  files: Readonly<Record<string, Buffer>>,
): Promise<HubServer> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    const path = request.url!.split('?')[0];
    requests.push(path);
    const answer = (status: number, body: Buffer, headers: Readonly<Record<string, string>> = {}) => {
      response.writeHead(status, { 'content-length': body.length, ...headers }).end(body);
    };
    const json = (value: unknown) => {
      answer(200, Buffer.from(JSON.stringify(value)), { 'content-type': 'application/json' });
    };
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (path === `/api/models/${model}/revision/main`) json({ _id: '1', id: model, sha: commit });
      else if (path === `/api/models/${model}/paths-info/${commit}`) {
        const { paths } = JSON.parse(Buffer.concat(chunks).toString()) as { paths: string[] };
        json(
          paths
            .filter((name) => name in files)
            .map((name) => ({
              type: 'file',
              path: name,
              size: files[name].length,
              oid: name.replaceAll('.', '0'),
              lastCommit: { id: 'f'.repeat(40), title: '', date: '2026-01-01T00:00:00.000Z' },
            })),
        );
      } else if (path.startsWith(`/${model}/resolve/${commit}/`)) {
        const name = path.slice(`/${model}/resolve/${commit}/`.length);
        const range = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '');
        if (!(name in files)) answer(404, Buffer.from('Entry not found'));
        else if (range) {
          const [from, to] = [Number(range[1]), Math.min(Number(range[2]), files[name].length - 1)];
          answer(206, files[name].subarray(from, to + 1), {
            etag: `"${name}"`,
            'content-range': `bytes ${from}-${to}/${files[name].length}`,
          });
        } else answer(200, files[name], { etag: `"${name}"` });
      } else
        answer(404, Buffer.from('{"error":"Repository not found"}'), { 'content-type': 'application/json' });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterAll(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}
