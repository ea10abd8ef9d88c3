import { accessSync, closeSync, constants, fstatSync, openSync, readSync, statSync } from 'node:fs';
import type { Stats } from 'node:fs';
import { dirname } from 'node:path';
import { InvalidArgumentError, pathProblem, RingrunError } from '@ringrun/core';

/** Longest secret. The environment of a worker has to hold it. */
export const maxCharacters = 4096;

/** Milliseconds to wait for the program at the other end of a pipe, such as in `--secret-file <(vault read …)`. */
const pipeMs = 10_000;
const pollMs = 20;

/** The shell command that writes a new secret, which other users cannot read. */
export const commandToCreate = (path: string) => `openssl rand -base64 32 > ${path} && chmod 600 ${path}`;

/** Files about which this process has printed a warning. */
const warned = new Set<string>();

/**
 * The text of a file with a secret. Prints a warning, once for each file, if other users can read or replace it.
 *
 * @param origin Name of the setting for errors, such as `--secret-file`.
 * @throws InvalidArgumentError if the file cannot be read, is no text or is too long.
 * @throws RingrunError `ERR_SECRET_EXPOSED` instead of the warning, if RINGRUN_REQUIRE_SECRET is 1.
 */
export function readSecretText(path: string, origin: string, env: NodeJS.ProcessEnv): string {
  const bytes = readBytes(path, origin);
  const exposure = exposureOf(path);
  if (exposure !== undefined) {
    const message = `${origin}: ${exposure}`;
    if (env['RINGRUN_REQUIRE_SECRET']?.trim() === '1') {
      throw new RingrunError('ERR_SECRET_EXPOSED', `RINGRUN_REQUIRE_SECRET is 1, but ${message}`);
    }
    if (!warned.has(path)) process.stderr.write(`ringrun: ${message}\n`);
    warned.add(path);
  }
  const text = textOf(bytes);
  if (text !== undefined) return text;
  throw new InvalidArgumentError(
    `${origin}: expected a file with the secret of the job as text (UTF-8), got other bytes in ${path}. Create one with: ${commandToCreate(path)}`,
  );
}

/** Undefined if the bytes are no text. An environment variable cannot contain NUL. */
function textOf(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return text.includes('\0') ? undefined : text;
  } catch {
    return undefined;
  }
}

function readBytes(path: string, origin: string): Uint8Array {
  let file: number | undefined;
  try {
    // Without O_NONBLOCK, opening a pipe would wait for its writer.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    return fstatSync(file).isFile() ? readAvailable(file) : readPipe(file);
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? (cause as Error).message;
    const problem = pathProblem(path, 'file');
    // A folder cannot be replaced by the command.
    const target = problem === 'is a folder' ? 'ringrun.secret' : path;
    throw new InvalidArgumentError(
      `${origin}: expected a file with the secret of the job, got ${path} (${code})${problem === undefined ? '' : `, which ${problem}`}. Create one with: ${commandToCreate(target)}`,
      { cause },
    );
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** More bytes than a secret may have are too long anyway. A character of UTF-8 has at most 4 bytes. */
const maxBytes = 4 * maxCharacters + 1024;

/** Reads until the end of the file. */
function readAvailable(file: number): Uint8Array {
  const bytes = Buffer.alloc(maxBytes);
  let length = 0;
  for (;;) {
    const count = readSync(file, bytes, length, maxBytes - length, null);
    length += count;
    if (count === 0 || length === maxBytes) return bytes.subarray(0, length);
  }
}

/** Reads until the writers have closed the pipe. Before the first byte, an end means that no writer has opened it. */
function readPipe(file: number): Uint8Array {
  const bytes = Buffer.alloc(maxBytes);
  const until = performance.now() + pipeMs;
  let length = 0;
  while (performance.now() < until) {
    const count = readOrWait(file, bytes, length);
    if (count === 0 && length > 0) return bytes.subarray(0, length);
    length += count ?? 0;
    if (length === maxBytes) return bytes;
    if (!count) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pollMs);
  }
  throw new Error(`no end of the text within ${pipeMs / 1000} s`);
}

/** Undefined if there is nothing to read yet. */
function readOrWait(file: number, bytes: Buffer, at: number): number | undefined {
  try {
    return readSync(file, bytes, at, bytes.length - at, null);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return undefined;
    throw error;
  }
}

/**
 * How other users can read or replace the file, and the command against it. Undefined if they cannot, or if this user
 * cannot change that: a Secret that Kubernetes mounts is readable for all users of its pod, on a read-only file system.
 */
function exposureOf(path: string): string | undefined {
  const user = process.geteuid?.();
  if (user === undefined) return undefined;
  const file = statSync(path, { throwIfNoEntry: false });
  if (file?.isFile() !== true || isReadOnly(path)) return undefined;
  const mine = exposedByMode(file, path);
  if (file.uid === user && mine !== undefined) return mine;
  if (file.uid !== user && file.uid !== 0 && user !== 0) {
    return `${path} belongs to another user (uid ${file.uid}), who can read and replace the secret of the job. Use a copy: install -m 600 ${path} ~/ringrun.secret`;
  }
  const folder = dirname(path);
  const parent = statSync(folder, { throwIfNoEntry: false });
  // In a folder with the sticky bit, such as /tmp, users cannot replace the files of others.
  if (parent === undefined || (parent.mode & 0o002) === 0 || (parent.mode & 0o1000) !== 0) return undefined;
  return `other users can replace ${path}, because they can write to its folder (mode ${octal(parent.mode)}). Run: chmod o-w ${folder}`;
}

function exposedByMode({ mode }: Stats, path: string): string | undefined {
  if ((mode & 0o077) === 0) return undefined;
  return `other users can read ${path} (mode ${octal(mode)}), and a process with the secret can join the job. Run: chmod 600 ${path}`;
}

function octal(mode: number): string {
  return (mode & 0o7777).toString(8).padStart(4, '0');
}

function isReadOnly(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EROFS';
  }
}
