import { RingrunError } from '@ringrun/collectives';
import type { DownloadProgress } from './progress.ts';

/** A file that mirrors have. */
export interface RemoteFile {
  /** Its name at a mirror, and in the cache. */
  readonly name: string;
  /** Most bytes that it can have. */
  readonly maxBytes: number;
  /** Throws an error that says why when `bytes` are not the file's. */
  verify(bytes: Uint8Array): void;
}

export interface Downloader {
  /** Base URLs, tried in this order. One that failed is not asked again. */
  mirrors: readonly string[];
  /** Milliseconds that a mirror may send nothing until it counts as failed. */
  patienceMs: number;
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
 * Downloads files one after the other. Throws a `DownloadError` when no mirror is left, which takes `patienceMs` for each silent mirror and
 * no more, however many files there are.
 */
export async function* downloadFiles(
  files: readonly RemoteFile[],
  downloader: Downloader,
): AsyncGenerator<DownloadedFile, void> {
  const mirrors = [...downloader.mirrors];
  const failures: string[] = [];
  for (const file of files) {
    yield { file, bytes: await fromFirstThatHasIt(file, mirrors, failures, downloader) };
  }
}

/** Moves mirrors that failed from `mirrors` to `failures`. */
async function fromFirstThatHasIt(
  file: RemoteFile,
  mirrors: string[],
  failures: string[],
  downloader: Downloader,
): Promise<Uint8Array> {
  for (let mirror = mirrors[0]; mirrors.length > 0; mirror = mirrors[0]) {
    const url = new URL(file.name, mirror.endsWith('/') ? mirror : `${mirror}/`);
    try {
      const bytes = await fetchWithPatience(url, file.maxBytes, downloader);
      file.verify(bytes);
      return bytes;
    } catch (error) {
      failures.push(`${url.href}: ${inOneLine(error)}`);
      mirrors.shift();
    }
  }
  throw new DownloadError(failures.join('; ') || 'no mirror is configured');
}

/** The body of a response, which must not be longer than `maxBytes`. */
async function fetchWithPatience(
  url: URL,
  maxBytes: number,
  { patienceMs, progress }: Downloader,
): Promise<Uint8Array> {
  const abandon = new AbortController();
  const patience = setTimeout(() => {
    abandon.abort(new Error(`nothing came for ${patienceMs / 1000} s`));
  }, patienceMs);
  try {
    const response = await fetch(url, { signal: abandon.signal, headers: { 'accept-encoding': 'identity' } });
    if (!response.ok || !response.body) throw new Error(`HTTP ${response.status} ${response.statusText}`);
    progress.begin(url, Number(response.headers.get('content-length')));
    const chunks: Uint8Array[] = [];
    let received = 0;
    for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
      patience.refresh();
      chunks.push(chunk);
      received += chunk.length;
      if (received > maxBytes) throw new Error(`it is longer than ${maxBytes} bytes`);
      progress.advance(chunk.length);
    }
    return Buffer.concat(chunks);
  } finally {
    clearTimeout(patience);
    // Closes the connection of a response that was not read to its end.
    abandon.abort();
    progress.end();
  }
}

/** Why a request failed: fetch hides the reason in the cause of its error. */
function inOneLine(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (!(cause instanceof Error)) return error.message;
  return cause.message || ('code' in cause ? String(cause.code) : cause.name);
}
