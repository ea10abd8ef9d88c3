import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { printable, quoted } from '@ringrun/core';
import { CheckpointError } from './checkpoint-error.ts';
import { describeJson, isObject } from './describe-json.ts';
import { manifestName } from './catalogue.ts';

/** Version of the format that this ringrun writes. It rejects newer versions. */
export const formatVersion = 1;
const format = 'ringrun checkpoint';

/** Describes a checkpoint and lists its files. Written last. */
export interface Manifest {
  /** Always `ringrun checkpoint`. */
  format: string;
  version: number;
  step: number;
  epoch: number;
  /** Number of ranks that saved it. */
  worldSize: number;
  /** Time of the save: ISO 8601, UTC. */
  time: string;
  /** Unique name of the training, kept when it is resumed. Missing in checkpoints of ringrun 0.1. */
  training?: string;
  /** Trainings whose checkpoints its ranks saw when it began or resumed, so it is newer than these. Default: none. */
  after?: readonly string[];
  files: Readonly<Record<string, FileRecord>>;
}

export interface FileRecord {
  bytes: number;
  /** In hex. */
  sha256: string;
}

/** The fields that the caller of a save provides. */
export type SaveInfo = Pick<Manifest, 'step' | 'epoch' | 'worldSize' | 'time' | 'training' | 'after'>;

/**
 * Bytes to hash before yielding to the event loop, because the caller may be the training thread. Node's
 * limit per update is 2 GiB.
 */
const hashedAtOnce = 2 ** 24;

/** @param atOnce bytes per update. Default: 16 MiB. */
export async function fileRecordOf(bytes: Uint8Array, atOnce = hashedAtOnce): Promise<FileRecord> {
  const hash = createHash('sha256');
  for (let begin = 0; begin < bytes.length; begin += atOnce) {
    if (begin > 0) await setImmediate();
    hash.update(bytes.subarray(begin, begin + atOnce));
  }
  return { bytes: bytes.length, sha256: hash.digest('hex') };
}

/** Encodes a manifest as JSON. The last field is the SHA-256 of all other fields, so any change is detected. */
export function encodeManifest(saveInfo: SaveInfo, files: Manifest['files']): Uint8Array {
  const manifest: Manifest = { format, version: formatVersion, ...saveInfo, files };
  return Buffer.from(`${JSON.stringify({ ...manifest, sha256: digestOf(manifest) }, null, 2)}\n`);
}

/**
 * @param name name of the checkpoint, for errors
 * @throws CheckpointError: damaged (including valid JSON that is not a manifest), or of a newer format
 */
export function decodeManifest(bytes: Uint8Array, name: string): Manifest {
  const { sha256, ...manifest } = parse(bytes, name);
  if (manifest.format !== format) throw damaged(name, `it is not a manifest of a ${format}`);
  if (Number.isInteger(manifest.version) && manifest.version > formatVersion) {
    throw new CheckpointError(
      'newer format',
      `${name}: expected a format version of at most ${formatVersion}, got ${manifest.version}. Resume with the version of ringrun that wrote it, or a newer one.`,
    );
  }
  const found = digestIn(manifest, name);
  if (found !== sha256)
    throw damaged(name, `its content has SHA-256 ${found}, expected ${describeJson(sha256)}`);
  const problem = problemOf(manifest);
  if (problem !== undefined) throw damaged(name, problem);
  return manifest;
}

function parse(bytes: Uint8Array, name: string): Manifest & { sha256: unknown } {
  try {
    const value = JSON.parse(Buffer.from(bytes).toString('utf8')) as Manifest | null;
    return { ...value } as Manifest & { sha256: unknown };
  } catch (error) {
    const reason = printable((error as Error).message, 200);
    throw damaged(name, `its ${bytes.length} bytes are not valid JSON (${reason})`);
  }
}

function digestIn(manifest: Manifest, name: string): string {
  try {
    return digestOf(manifest);
  } catch (error) {
    throw damaged(name, `its content cannot be hashed (${(error as Error).message})`);
  }
}

/** As `Date.toISOString` writes it: `Date.parse` also accepts other texts. */
const isoTime = /^[+-]?\d{4,6}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

/** Describes the first invalid field, with its value; undefined if all are valid. */
function problemOf(manifest: Manifest): string | undefined {
  const { version, step, epoch, worldSize, time, training, after, files } = manifest;
  const least = { version: 1, step: 0, epoch: 0, worldSize: 1 };
  for (const [field, value] of Object.entries({ version, step, epoch, worldSize })) {
    const from = least[field as keyof typeof least];
    if (!isCount(value, from)) return wrong(field, value, `an integer of at least ${from}`);
  }
  if (typeof time !== 'string' || !isoTime.test(time) || Number.isNaN(Date.parse(time)))
    return wrong('time', time, 'an ISO 8601 time');
  if (training !== undefined && !isTraining(training))
    return wrong('training', training, 'a name of at most 200 printable characters');
  if (after !== undefined && !(Array.isArray(after) && after.every(isTraining)))
    return wrong('after', after, 'an array of names of at most 200 printable characters');
  if (!isObject(files)) return wrong('files', files, 'an object of records');
  return Object.entries(files).map(problemOfFile).find(Boolean);
}

function problemOfFile([file, record]: [string, unknown]): string | undefined {
  const field = `files[${quoted(file)}]`;
  if (!/^[A-Za-z0-9][\w.-]*$/.test(file) || file === manifestName)
    return `${field} is not a valid file name in a checkpoint`;
  if (!isObject(record)) return wrong(field, record, 'an object with bytes and sha256');
  const { bytes, sha256 } = record;
  if (!isCount(bytes, 0)) return wrong(`${field}.bytes`, bytes, 'an integer of at least 0');
  const isDigest = typeof sha256 === 'string' && /^[0-9a-f]{64}$/.test(sha256);
  return isDigest ? undefined : wrong(`${field}.sha256`, sha256, '64 hexadecimal digits');
}

function wrong(field: string, value: unknown, expected: string): string {
  const shown = value === undefined ? 'missing' : printable(JSON.stringify(value), 200);
  return `its ${field} is ${shown}, expected ${expected}`;
}

function isTraining(value: unknown): boolean {
  return typeof value === 'string' && /^[\x20-\x7e]{1,200}$/.test(value);
}

function isCount(value: unknown, least: number): boolean {
  return Number.isSafeInteger(value) && (value as number) >= least;
}

/** The JSON is reproducible: parsing and writing it again keeps numbers and the order of keys. */
function digestOf(manifest: Manifest): string {
  return createHash('sha256').update(JSON.stringify(manifest)).digest('hex');
}

/** The error for a checkpoint with a changed or missing file. */
export function damaged(name: string, how: string, file = manifestName): CheckpointError {
  return new CheckpointError('damaged', `${name} is damaged: ${file}: ${how}`);
}
