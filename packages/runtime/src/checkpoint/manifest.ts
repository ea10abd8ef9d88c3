import { createHash } from 'node:crypto';
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

export function recordOf(bytes: Uint8Array): FileRecord {
  return { bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
}

/** The manifest's bytes: JSON, whose last field is the SHA-256 of all the others, so that nothing in it changes unnoticed. */
export function encodeManifest(occasion: Occasion, files: Manifest['files']): Uint8Array {
  const manifest: Manifest = { format, version: formatVersion, ...occasion, files };
  return Buffer.from(`${JSON.stringify({ ...manifest, sha256: digestOf(manifest) }, null, 2)}\n`);
}

/**
 * @param name of the checkpoint, for messages
 * @throws CheckpointError: damaged, or of a newer format
 */
export function decodeManifest(bytes: Uint8Array, name: string): Manifest {
  const { sha256, ...manifest } = parse(bytes, name);
  if (manifest.format !== format) throw damaged(name, `it is no manifest of a ${format}`);
  if (manifest.version > formatVersion) {
    throw new CheckpointError(
      'newer format',
      `${name} has format version ${manifest.version}, and this ringrun reads versions up to ${formatVersion}. Resume with the ringrun that wrote it, or a newer one.`,
    );
  }
  const found = digestOf(manifest);
  if (found !== sha256) throw damaged(name, `its content has SHA-256 ${found}, expected ${String(sha256)}`);
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

/** Numbers and the order of keys survive being parsed and written again. */
function digestOf(manifest: Manifest): string {
  return recordOf(Buffer.from(JSON.stringify(manifest))).sha256;
}

/** A checkpoint one of whose files is not what was written. */
export function damaged(name: string, how: string, file = manifestName): CheckpointError {
  return new CheckpointError('damaged', `${name} is damaged: ${file}: ${how}`);
}
