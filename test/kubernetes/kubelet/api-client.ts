import { Agent, request } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { ObjectMeta } from 'kubernetes-types/meta/v1.js';

export interface Credentials {
  /** URL of the API server. */
  server: string;
  /** PEM texts. */
  ca: string;
  cert: string;
  key: string;
}

export interface ApiObject {
  metadata?: ObjectMeta;
}

/** Functions called with each object that exists or changes, and with each one that is deleted. */
export interface Watcher<T> {
  set: (object: T) => void;
  delete: (object: T) => void;
}

/** The API server answered with an error status. */
export class ApiError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Reads, writes and watches objects of the Kubernetes API by their paths. */
export class ApiClient {
  readonly #credentials: Credentials;
  readonly #agent: Agent;

  constructor(credentials: Credentials) {
    this.#credentials = credentials;
    const { ca, cert, key } = credentials;
    this.#agent = new Agent({ ca, cert, key, keepAlive: true });
  }

  get<T>(path: string): Promise<T> {
    return this.#json('GET', path);
  }

  /** Undefined if the object does not exist. */
  async find<T>(path: string): Promise<T | undefined> {
    try {
      return await this.get<T>(path);
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return undefined;
      throw error;
    }
  }

  post<T>(path: string, body: unknown): Promise<T> {
    return this.#json('POST', path, body);
  }

  /** Merges `body` into the object: a JSON merge patch, which replaces arrays. */
  patch<T>(path: string, body: unknown): Promise<T> {
    return this.#json('PATCH', path, body, 'application/merge-patch+json');
  }

  delete(path: string, body: unknown): Promise<unknown> {
    return this.#json('DELETE', path, body);
  }

  /** Lists the objects of a collection, then watches them; starts again whenever the watch ends. Never resolves. */
  async watch<T extends ApiObject>(path: string, watcher: Watcher<T>): Promise<never> {
    const known = new Map<string, T>();
    for (;;) {
      try {
        await this.#listAndWatch(path, watcher, known);
      } catch (error) {
        console.error(`watch of ${path}: ${(error as Error).message}`);
        await delay(500);
      }
    }
  }

  async #listAndWatch<T extends ApiObject>(path: string, watcher: Watcher<T>, known: Map<string, T>) {
    const list = await this.get<{ metadata: { resourceVersion: string }; items: T[] }>(path);
    const present = new Set(list.items.map(({ metadata }) => metadata!.uid!));
    for (const [uid, object] of known) {
      if (present.has(uid)) continue;
      known.delete(uid);
      watcher.delete(object);
    }
    const set = (object: T): void => {
      known.set(object.metadata!.uid!, object);
      watcher.set(object);
    };
    list.items.forEach(set);
    const response = await this.#send(
      'GET',
      `${path}?watch=1&resourceVersion=${list.metadata.resourceVersion}`,
    );
    for await (const line of linesOf(response)) {
      const { type, object } = JSON.parse(line) as { type: string; object: T & { message?: string } };
      if (type === 'ERROR') throw new Error(object.message);
      if (type === 'DELETED') {
        known.delete(object.metadata!.uid!);
        watcher.delete(object);
      } else {
        set(object);
      }
    }
  }

  async #json<T>(method: string, path: string, body?: unknown, type = 'application/json'): Promise<T> {
    const response = await this.#send(method, path, body, type);
    return JSON.parse(await textOf(response)) as T;
  }

  async #send(method: string, path: string, body?: unknown, type?: string): Promise<IncomingMessage> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const headers = {
      accept: 'application/json',
      // Node sends no length for a DELETE, and the body would be lost.
      ...(text !== undefined && { 'content-type': type, 'content-length': Buffer.byteLength(text) }),
    };
    const url = new URL(path, this.#credentials.server);
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      request(url, { method, headers, agent: this.#agent }, resolve).once('error', reject).end(text);
    });
    const status = response.statusCode!;
    if (status < 400) return response;
    throw new ApiError(status, `${method} ${path}: ${status} ${await textOf(response)}`);
  }
}

async function textOf(response: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) text += chunk as string;
  return text;
}

async function* linesOf(response: IncomingMessage): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of response.setEncoding('utf8')) {
    const lines = (rest + (chunk as string)).split('\n');
    rest = lines.pop()!;
    yield* lines.filter((line) => line !== '');
  }
}
