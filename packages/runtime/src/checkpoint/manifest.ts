import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { CheckpointError } from './checkpoint-error.ts';
import { manifestName } from './catalogue.ts';

/** Of the format that is written here. A higher one is refused. */
export const formatVersion = 1;
const format = 'ringrun checkpoint';

/** What a checkpoint is, and what must be found in it. Written last. */
export interface Manifest {
  /** What kind of file it is: `ringrun checkpoint`. */
  format: string;
  version: number;
  step: number;
  epoch: number;
  /** Ranks that saved it together. */
  worldSize: number;
  /** When its state was taken: ISO 8601, UTC. */
  time: string;
  files: Readonly<Record<string, FileRecord>>;
}

export interface FileRecord {
  bytes: number;
  /** In hex. */
  sha256: string;
}

/** What the caller of a save knows. */
export type Occasion = Pick<Manifest, 'step' | 'epoch' | 'worldSize' | 'time'>;

/** Bytes that are hashed before others have a turn: the caller's thread may be the one that trains. Node's hashes take less than 2 GiB at once. */
const hashedAtOnce = 2 ** 24;

/** @param atOnce bytes; default: 16 MiB */
export async function recordOf(bytes: Uint8Array, atOnce = hashedAtOnce): Promise<FileRecord> {
  const hash = createHash('sha256');
  for (let begin = 0; begin < bytes.length; begin += atOnce) {
    if (begin > 0) await setImmediate();
    hash.update(bytes.subarray(begin, begin + atOnce));
  }
  return { bytes: bytes.length, sha256: hash.digest('hex') };
}

/** The manifest's bytes: JSON, whose last field is the SHA-256 of all the others, so that nothing in it changes unnoticed. */
export function encodeManifest(occasion: Occasion, files: Manifest['files']): Uint8Array {
  const manifest: Manifest = { format, version: formatVersion, ...occasion, files };
  return Buffer.from(`${JSON.stringify({ ...manifest, sha256: digestOf(manifest) }, null, 2)}\n`);
}

/**
 * @param name of the checkpoint, for messages
 * @throws CheckpointError: damaged, which includes content that no ringrun writes, or of a newer format
 */
export function decodeManifest(bytes: Uint8Array, name: string): Manifest {
  const { sha256, ...manifest } = parse(bytes, name);
  if (manifest.format !== format) throw damaged(name, `it is no manifest of a ${format}`);
  if (Number.isInteger(manifest.version) && manifest.version > formatVersion) {
    throw new CheckpointError(
      'newer format',
      `${name} has format version ${manifest.version}, and this ringrun reads versions up to ${formatVersion}. Resume with the ringrun that wrote it, or a newer one.`,
    );
  }
  const found = digestOf(manifest);
  if (found !== sha256) throw damaged(name, `its content has SHA-256 ${found}, expected ${String(sha256)}`);
  const problem = problemOf(manifest);
  if (problem !== undefined) throw damaged(name, problem);
  return manifest;
}

function parse(bytes: Uint8Array, name: string): Manifest & { sha256: unknown } {
  try {
    const value = JSON.parse(Buffer.from(bytes).toString('utf8')) as Manifest | null;
    return { ...value } as Manifest & { sha256: unknown };
  } catch (error) {
    throw damaged(name, `its ${bytes.length} bytes are no JSON (${(error as Error).message})`);
  }
}

/** The first field that is not as a manifest has it, with its value. */
function problemOf({ version, step, epoch, worldSize, time, files }: Manifest): string | undefined {
  const least = { version: 1, step: 0, epoch: 0, worldSize: 1 };
  for (const [field, value] of Object.entries({ version, step, epoch, worldSize })) {
    const from = least[field as keyof typeof least];
    if (!isCount(value, from)) return wrong(field, value, `an integer of at least ${from}`);
  }
  if (typeof time !== 'string' || Number.isNaN(Date.parse(time)))
    return wrong('time', time, 'an ISO 8601 time');
  if (!isObject(files)) return wrong('files', files, 'an object of records');
  return Object.entries(files).map(problemOfFile).find(Boolean);
}

function problemOfFile([file, record]: [string, unknown]): string | undefined {
  const field = `files[${JSON.stringify(file)}]`;
  if (!/^[A-Za-z0-9][\w.-]*$/.test(file) || file === manifestName)
    return `${field} is no name of a checkpoint's file`;
  if (!isObject(record)) return wrong(field, record, 'an object with bytes and sha256');
  const { bytes, sha256 } = record;
  if (!isCount(bytes, 0)) return wrong(`${field}.bytes`, bytes, 'an integer of at least 0');
  const isDigest = typeof sha256 === 'string' && /^[0-9a-f]{64}$/.test(sha256);
  return isDigest ? undefined : wrong(`${field}.sha256`, sha256, '64 hexadecimal digits');
}

function wrong(field: string, value: unknown, expected: string): string {
  const shown = value === undefined ? 'missing' : JSON.stringify(value);
  return `its ${field} is ${shown}, expected ${expected}`;
}

function isCount(value: unknown, least: number): boolean {
  return Number.isSafeInteger(value) && (value as number) >= least;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Numbers and the order of keys survive being parsed and written again. */
function digestOf(manifest: Manifest): string {
  return createHash('sha256').update(JSON.stringify(manifest)).digest('hex');
}

/** A checkpoint one of whose files is not what was written. */
export function damaged(name: string, how: string, file = manifestName): CheckpointError {
  return new CheckpointError('damaged', `${name} is damaged: ${file}: ${how}`);
}
