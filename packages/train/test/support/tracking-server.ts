import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** A request as the server received it. */
export interface Received {
  readonly path: string;
  readonly authorization: string | undefined;
  readonly body: Readonly<Record<string, unknown>>;
}

/** The types of the fields of a request: `!` is required. From MLflow's REST API documentation. */
const requests: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'experiments/create': { name: 'string!' },
  'runs/create': {
    experiment_id: 'string!',
    run_name: 'string',
    start_time: 'number',
    tags: 'pairs',
  },
  'runs/log-batch': { run_id: 'string!', metrics: 'metrics', params: 'pairs', tags: 'pairs' },
  'runs/log-parameter': { run_id: 'string!', key: 'string!', value: 'string!' },
  'runs/update': { run_id: 'string!', status: 'status', end_time: 'number', run_name: 'string' },
};

type Check = (value: unknown) => boolean;
const isPair = (value: unknown) =>
  typeof (value as { key: unknown }).key === 'string' &&
  typeof (value as { value: unknown }).value === 'string';

const checks: Readonly<Record<string, Check>> = {
  string: (value) => typeof value === 'string' && value !== '',
  number: (value) => Number.isSafeInteger(value),
  status: (value) => ['RUNNING', 'SCHEDULED', 'FINISHED', 'FAILED', 'KILLED'].includes(value as string),
  pairs: (value) => Array.isArray(value) && value.every(isPair),
  metrics: (value) => Array.isArray(value) && value.length <= 1000 && value.every(isMetric),
};

function isMetric(value: unknown): boolean {
  const { key, value: number, timestamp, step } = value as Record<string, unknown>;
  const isNumber = typeof number === 'number' || ['NaN', 'Infinity', '-Infinity'].includes(number as string);
  return typeof key === 'string' && isNumber && Number.isSafeInteger(timestamp) && Number.isSafeInteger(step);
}

/** What is wrong with a request; undefined if it is as documented. */
function problemOf(path: string, body: Readonly<Record<string, unknown>>): string | undefined {
  const fields = requests[path] as (typeof requests)[string] | undefined;
  if (fields === undefined) return `no endpoint ${path}`;
  const unknown = Object.keys(body).find((name) => !Object.hasOwn(fields, name));
  if (unknown !== undefined) return `unknown field ${unknown}`;
  for (const [name, kind] of Object.entries(fields)) {
    const value = body[name];
    if (value === undefined ? kind.endsWith('!') : !checks[kind.replace('!', '')](value))
      return `field ${name}`;
  }
  return undefined;
}

/** Answers instead of the server, for failures; undefined: the server answers. */
export type Interruption = (path: string) => { readonly status: number; readonly body: string } | undefined;

/**
 * A small MLflow tracking server, which refuses requests that are not as MLflow documents them.
 *
 * @param interrupts failures
 */
export async function trackingServer(interrupts: Interruption = () => undefined) {
  const received: Received[] = [];
  let hasExperiment = false;
  const answerTo = (
    path: string,
    body: Readonly<Record<string, unknown>>,
  ): [status: number, answer: object] => {
    if (path.startsWith('experiments/get-by-name?experiment_name=')) {
      return hasExperiment
        ? [200, { experiment: { experiment_id: '7' } }]
        : [404, { error_code: 'RESOURCE_DOES_NOT_EXIST', message: 'No experiment' }];
    }
    const problem = problemOf(path, body);
    if (problem !== undefined) return [400, { error_code: 'INVALID_PARAMETER_VALUE', message: problem }];
    if (path === 'experiments/create') {
      hasExperiment = true;
      return [200, { experiment_id: '7' }];
    }
    return [200, path === 'runs/create' ? { run: { info: { run_id: 'run1' } } } : {}];
  };
  const respond = async (request: IncomingMessage, response: ServerResponse) => {
    const path = request.url!.replace('/api/2.0/mlflow/', '');
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString() || '{}') as Received['body'];
    const interruption = interrupts(path);
    if (interruption === undefined)
      received.push({ path, authorization: request.headers.authorization, body });
    const [status, answer] = interruption
      ? [interruption.status, interruption.body]
      : answerTo(path, body).map((part) => (typeof part === 'object' ? JSON.stringify(part) : part));
    response.writeHead(status as number, { 'content-type': 'application/json' }).end(answer as string);
  };
  const server = createServer((request, response) => void respond(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { uri: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, received };
}
