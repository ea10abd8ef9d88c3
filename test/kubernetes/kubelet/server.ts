import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { ServerResponse } from 'node:http';
import { WebSocketServer } from 'ws';
import type { WebSocket } from 'ws';
import type { RunningContainer } from './container.ts';
import type { PodWorker } from './pod.ts';

export interface ServerOptions {
  address: string;
  port: number;
  /** PEM texts. Only clients with a certificate of `ca`, such as the API server, are served. */
  tls: { ca: string; cert: string; key: string };
  find: (namespace: string, pod: string) => PodWorker | undefined;
}

/** First byte of a message of the protocols v4.channel.k8s.io and v5.channel.k8s.io. */
const channel = { stdin: 0, stdout: 1, stderr: 2, status: 3, close: 255 } as const;

/** Serves `kubectl logs` and `kubectl exec`, without a terminal. */
export async function serve({ address, port, tls, find }: ServerOptions): Promise<void> {
  const server = createServer({ ...tls, requestCert: true, rejectUnauthorized: true });
  const sockets = new WebSocketServer({
    noServer: true,
    handleProtocols: (offered) =>
      ['v5.channel.k8s.io', 'v4.channel.k8s.io'].find((protocol) => offered.has(protocol)) ?? false,
  });
  server.on('request', (request, response) => {
    const { path, query } = parse(request.url!);
    const [verb, namespace, pod, container] = path;
    const worker = find(namespace, pod);
    if (verb !== 'containerLogs') end(response, 501, `this kubelet does not serve ${verb}`);
    else if (worker === undefined) end(response, 404, `pod ${namespace}/${pod} not found`);
    else void sendLogs(response, worker, container, query);
  });
  server.on('upgrade', (request, socket, head) => {
    const { path, query } = parse(request.url!);
    const [verb, namespace, pod, container] = path;
    const running = verb === 'exec' ? find(namespace, pod)?.container(container) : undefined;
    if (running === undefined) {
      socket.end('HTTP/1.1 404 Not Found\r\nconnection: close\r\n\r\n');
      return;
    }
    sockets.handleUpgrade(request, socket, head, (webSocket) => {
      void execute(webSocket, running, query.getAll('command'));
    });
  });
  server.listen(port, address);
  await once(server, 'listening');
}

function parse(url: string): { path: string[]; query: URLSearchParams } {
  const { pathname, searchParams } = new URL(url, 'https://kubelet');
  return { path: pathname.split('/').slice(1), query: searchParams };
}

async function sendLogs(
  response: ServerResponse,
  worker: PodWorker,
  container: string,
  query: URLSearchParams,
) {
  const runs = worker.logs(container);
  const log = runs.at(query.get('previous') === 'true' ? -2 : -1);
  if (log === undefined) {
    const which = query.get('previous') === 'true' ? 'previous terminated container' : 'container';
    end(response, 400, `${which} "${container}" not found`);
    return;
  }
  const tail = query.get('tailLines');
  const first = tail === null ? 0 : Math.max(0, log.lines.length - Number(tail));
  for await (const { time, text } of log.read(first, query.get('follow') === 'true')) {
    response.write(query.get('timestamps') === 'true' ? `${time} ${text}\n` : `${text}\n`);
  }
  response.end();
}

/** Runs a command with its standard streams and its end as messages. */
async function execute(
  socket: WebSocket,
  container: RunningContainer,
  command: readonly string[],
): Promise<void> {
  const { args, env } = container.execCommand(command);
  const child = spawn(args[0], args.slice(1), { env });
  const send = (to: number) => (bytes: Buffer) => {
    socket.send(Buffer.concat([Buffer.of(to), bytes]));
  };
  child.stdout.on('data', send(channel.stdout));
  child.stderr.on('data', send(channel.stderr));
  socket.on('message', (data: Buffer) => {
    if (data[0] === channel.stdin) child.stdin.write(data.subarray(1));
    if (data[0] === channel.close && data[1] === channel.stdin) child.stdin.end();
  });
  socket.once('close', () => child.kill());
  child.stdin.on('error', () => undefined);
  const [code] = (await once(child, 'close')) as [number | null];
  send(channel.status)(Buffer.from(JSON.stringify(statusOf(code))));
  socket.close(1000);
}

/** As the kubelet reports the end of a command. */
function statusOf(code: number | null) {
  if (code === 0) return { metadata: {}, status: 'Success' };
  return {
    metadata: {},
    status: 'Failure',
    reason: 'NonZeroExitCode',
    message: `command terminated with exit code ${code}`,
    details: { causes: [{ reason: 'ExitCode', message: String(code ?? 137) }] },
  };
}

function end(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain' }).end(text);
}
