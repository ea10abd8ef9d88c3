import { createServer } from 'node:http';
import type { RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export interface Mirror {
  /** `http://127.0.0.1:…/mnist/`, on a port that was free. */
  url: string;
  /** Requested paths, in order. */
  requests: string[];
}

/** A web server that answers with the given function until the test is over. */
export async function startMirror(answer: RequestListener): Promise<Mirror> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(request.url ?? '');
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mnist/`, requests };
}

/** The base URL of a port on which no process listens. */
export async function deadMirror(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}/mnist/`;
}
