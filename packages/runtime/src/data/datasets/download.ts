import { printable, RingrunError } from '@ringrun/core';
import { knownFormat } from '../../storage/known-formats.ts';
import type { DownloadProgress } from './download-progress.ts';

/** A file on the mirrors. */
export interface RemoteFile {
  /** Its name on a mirror and in the cache. */
  readonly name: string;
  /** Maximum size in bytes. */
  readonly maxBytes: number;
  /** Throws an error with the reason if `bytes` are not the expected file. */
  verify(bytes: Uint8Array): void;
}

export interface Downloader {
  /** Base URLs, tried in this order. A mirror that failed is not tried again. */
  mirrors: readonly string[];
  /** Milliseconds without data after which a mirror counts as failed. */
  timeoutMs: number;
  progress: DownloadProgress;
}

/** A file as a mirror sent it, verified. */
export interface DownloadedFile {
  file: RemoteFile;
  bytes: Uint8Array;
}

/** No mirror delivered a file. The message contains the reason of each mirror. */
export class DownloadError extends RingrunError {
  constructor(message: string, options?: ErrorOptions) {
    super('ERR_DOWNLOAD', message, options);
  }
}

/**
 * Downloads files one after the other. Throws a `DownloadError` if no mirror is left. Each silent mirror
 * costs `timeoutMs` once, regardless of the number of files.
 */
export async function* downloadFiles(
  files: readonly RemoteFile[],
  downloader: Downloader,
): AsyncGenerator<DownloadedFile, void> {
  const mirrors = [...downloader.mirrors];
  const failures: string[] = [];
  for (const file of files) {
    yield { file, bytes: await downloadFromMirrors(file, mirrors, failures, downloader) };
  }
}

/** Moves mirrors that failed from `mirrors` to `failures`. */
async function downloadFromMirrors(
  file: RemoteFile,
  mirrors: string[],
  failures: string[],
  downloader: Downloader,
): Promise<Uint8Array> {
  for (let mirror = mirrors[0]; mirrors.length > 0; mirror = mirrors[0]) {
    const url = new URL(file.name, mirror.endsWith('/') ? mirror : `${mirror}/`);
    try {
      const bytes = await fetchWithTimeout(url, file.maxBytes, downloader);
      const problem = problemOf(file, bytes);
      if (problem !== undefined) throw new Error(problem);
      return bytes;
    } catch (error) {
      failures.push(`${url.href}: ${printable(reasonOf(error), 300)}`);
      mirrors.shift();
    }
  }
  throw new DownloadError(failures.join('; ') || 'no mirror is configured');
}

/** Why `bytes` are not the file; undefined if they are. A proxy may answer with a login page and status 200. */
function problemOf(file: RemoteFile, bytes: Uint8Array): string | undefined {
  try {
    file.verify(bytes);
    return undefined;
  } catch (error) {
    const { what = '' } = knownFormat(bytes) ?? {};
    return `${reasonOf(error)}${what.startsWith('a web page') ? `; it is ${what}` : ''}`;
  }
}

/** Reads the body of a response; throws if it is longer than `maxBytes`. */
async function fetchWithTimeout(
  url: URL,
  maxBytes: number,
  { timeoutMs, progress }: Downloader,
): Promise<Uint8Array> {
  const controller = new AbortController();
  const timer = setTimeout(() => {
    controller.abort(new Error(`no data for ${timeoutMs / 1000} s`));
  }, timeoutMs);
  try {
    const response = await fetch(url, {
      signal: controller.signal,
      headers: { 'accept-encoding': 'identity' },
    });
    if (!response.ok || !response.body) throw new Error(`HTTP ${response.status} ${response.statusText}`);
    progress.begin(url, Number(response.headers.get('content-length')));
    const chunks: Uint8Array[] = [];
    let received = 0;
    for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
      timer.refresh();
      chunks.push(chunk);
      received += chunk.length;
      if (received > maxBytes) throw new Error(`it is longer than ${maxBytes} bytes`);
      progress.advance(chunk.length);
    }
    return Buffer.concat(chunks);
  } finally {
    clearTimeout(timer);
    // Closes the connection of a response that was not read completely.
    controller.abort();
    progress.end();
  }
}

/** The reason of a failed request, which fetch puts into the cause of its error. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (!(cause instanceof Error)) return error.message;
  return cause.message || ('code' in cause ? String(cause.code) : cause.name);
}
