/**
 * The thread that serves the dashboard. It has its own event loop, memory limit and low priority, so that slow or
 * numerous clients do not slow down the launcher or the workers. It receives a `JobFigures` every second, and reports
 * the address at which it listens.
 */
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { accessOf } from './access.ts';
import { ClientLimits } from './client-limits.ts';
import { emptyCurve, extended } from './curve.ts';
import type { Curve } from './curve.ts';
import type { JobFigures } from './job-figures.ts';
import { pointOf, viewOf } from './job-view.ts';
import type { DashboardPlace } from '../options/dashboard-place.ts';
import type { PageAssets } from './page/assets.ts';
import { contentPolicyOf, pageOf } from './page/page.ts';
import { metricsOf, metricsType } from './prometheus.ts';
import { RateLimit } from './rate-limit.ts';
import { ScalarCurves } from './scalars.ts';
import { formatStatus } from './status.ts';

export interface ServerThreadData {
  readonly place: DashboardPlace;
  readonly token: string;
  readonly assets: PageAssets;
}

/** The bound port, or the error. */
export type ServerThreadReport = { port: number } | { code: string; message: string };

/** A browser needs 2 connections, and Prometheus 1. A stranger needs its connection for one request. */
const connectionLimits = { maxMembers: 32, maxStrangers: 128 };
/** A page sends 1 request per second. The requests of strangers have a limit of their own. */
const requestLimit = { perSecond: 50, burst: 100 };
const idleMs = 10_000;
const requestMs = 5000;

const { place, token, assets } = workerData as ServerThreadData;
const contentPolicy = contentPolicyOf(assets);
const clients = new ClientLimits<Socket>(connectionLimits);
const [memberRequests, strangerRequests] = [0, 1].map(
  () => new RateLimit(requestLimit.perSecond, requestLimit.burst, performance.now()),
);
let job: JobFigures = { runId: '', restartCount: 0, worldSize: 0, ranks: [], events: [] };
let curve: Curve = emptyCurve;
const scalars = new ScalarCurves();
/** Answers since the last figures, by path. */
const answers = new Map<string, Answer>();

interface Answer {
  readonly type: string;
  readonly body: string;
}

/** Each answer is formatted at most once per second, for any number of requests. */
const makers: Readonly<Record<string, () => Answer>> = {
  '/': () => ({ type: 'text/html; charset=utf-8', body: pageOf(status(), assets) }),
  '/status.json': () => ({ type: 'application/json', body: status() }),
  '/metrics': () => ({ type: metricsType, body: metricsOf(job) }),
};

// On Linux the priority applies to this thread only; elsewhere it would apply to the launcher.
if (process.platform === 'linux') setPriority(19);
const server = createServer(
  {
    maxHeaderSize: 8192,
    headersTimeout: requestMs,
    requestTimeout: requestMs,
    keepAliveTimeout: idleMs,
    connectionsCheckingInterval: 1000,
  },
  answer,
);
server.on('connection', (socket) => {
  socket.once('close', () => {
    clients.remove(socket);
  });
  clients.accept(socket, socket.remoteAddress ?? '')?.destroy();
});
// A client that reads nothing is dropped, together with its unsent answers.
server.setTimeout(idleMs, (socket) => {
  socket.destroy();
});
server.on('clientError', (_, socket) => {
  socket.destroy();
});
server.once('error', onListenError);
server.listen({ host: place.host, port: place.port }, onListening);

parentPort!.on('message', (message: JobFigures | 'end') => {
  if (message === 'end') {
    server.close();
    server.closeAllConnections();
    parentPort!.close();
    return;
  }
  job = message;
  answers.clear();
  const point = pointOf(viewOf(job));
  if (point !== undefined) curve = extended(curve, point);
  scalars.extend(job.ranks);
});

function onListening(): void {
  server.removeListener('error', onListenError);
  server.on('error', () => undefined);
  report({ port: (server.address() as AddressInfo).port });
}

function onListenError(error: NodeJS.ErrnoException): void {
  if (error.code === 'EADDRINUSE' && !place.isChosen) {
    server.listen({ host: place.host, port: 0 }, onListening);
    return;
  }
  report({ code: error.code ?? 'unknown', message: error.message });
  parentPort!.close();
}

function report(outcome: ServerThreadReport): void {
  parentPort!.postMessage(outcome);
}

function status(): string {
  return formatStatus(viewOf(job), {
    curve: curve.points,
    scalars: scalars.list,
    hiddenScalars: scalars.left,
  });
}

function answer(request: IncomingMessage, response: ServerResponse): void {
  request.resume();
  const refuse = (code: number, text: string, headers: Record<string, string> = {}) => {
    response
      .writeHead(code, { 'content-type': 'text/plain', connection: 'close', ...headers })
      .end(`${text}\n`);
  };
  const access = accessOf(request.url ?? '/', request.headers, token);
  if (access.kind === 'denied') {
    if (strangerRequests.pass(performance.now()))
      refuse(401, 'Expected the token of this job. Open the URL that ringrun printed, with ?token=…', {
        'www-authenticate': 'Bearer',
      });
    else request.socket.destroy();
    return;
  }
  clients.admit(request.socket)?.destroy();
  if (!memberRequests.pass(performance.now())) {
    refuse(429, 'Too many requests.', { 'retry-after': '1' });
    return;
  }
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    refuse(405, 'Expected GET.', { allow: 'GET, HEAD' });
    return;
  }
  if (access.kind === 'signed in') {
    response
      .writeHead(303, {
        location: './',
        'set-cookie': access.cookie,
        ...commonHeaders,
      })
      .end();
    return;
  }
  const make = Object.hasOwn(makers, access.path) ? makers[access.path] : undefined;
  if (make === undefined) {
    refuse(404, 'Expected /, /status.json or /metrics.');
    return;
  }
  const { type, body } = answers.get(access.path) ?? make();
  answers.set(access.path, { type, body });
  response.writeHead(200, {
    ...commonHeaders,
    'content-type': type,
    'content-length': Buffer.byteLength(body),
    ...(access.path === '/' && { 'content-security-policy': contentPolicy }),
  });
  response.end(body);
}

/** The token in the URL must not be sent to other sites. */
const commonHeaders = {
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
} as const;
