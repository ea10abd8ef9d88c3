import { readFile } from 'node:fs/promises';
import { request } from 'node:https';
import type { TrainerServer } from './server-variables.ts';
import type { TrainerStatus } from './status.ts';

/** Timeout of one request in milliseconds. */
const requestMs = 5000;

/** The server did not accept a status. `code` identifies the kind of failure. */
export class StatusRejectedError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * Posts a status. Reads both files each time, because the token is rotated and the certificate may be.
 *
 * @throws StatusRejectedError if the server does not answer with success; errors of the file system, TLS and
 * network
 */
export async function postStatus(server: TrainerServer, status: TrainerStatus): Promise<void> {
  const [ca, token] = await Promise.all([
    readFile(server.certificateFile),
    readFile(server.tokenFile, 'utf8'),
  ]);
  const body = JSON.stringify({ trainerStatus: { ...status, lastUpdatedTime: new Date().toISOString() } });
  const headers = {
    Authorization: `Bearer ${token.trim()}`,
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
  };
  await post(server.url, { ca, headers }, body);
}

function post(url: string, options: { ca: Buffer; headers: object }, body: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(requestMs);
    const sent = request(url, {
      ...options,
      headers: { ...options.headers },
      method: 'POST',
      agent: false,
      signal,
    });
    sent.on('error', (error) => {
      reject(
        signal.aborted ? new StatusRejectedError('TIMEOUT', `no answer within ${requestMs / 1000} s`) : error,
      );
    });
    sent.on('response', (response) => {
      const { statusCode = 0, statusMessage = '' } = response.resume();
      const isAccepted = statusCode >= 200 && statusCode < 300;
      if (isAccepted) response.on('end', resolve);
      else
        reject(new StatusRejectedError(`HTTP ${statusCode}`, `it answered ${statusCode} ${statusMessage}`));
    });
    sent.end(body);
  });
}
