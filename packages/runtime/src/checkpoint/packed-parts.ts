import { printable, quoted } from '@ringrun/core';
import type { Allocate } from './background-writer.ts';
import { CheckpointError } from './checkpoint-error.ts';
import { describeJson, isObject } from './describe-json.ts';
import { unflatten } from './flat-state.ts';
import type { FlatState, Tree } from './flat-state.ts';
import { decodeSafetensors, encodeSafetensors } from './safetensors.ts';
import type { ArrayWithShape } from './safetensors.ts';

/** The state of one registered object. */
export interface Part<State> {
  /** Whether each rank has its own state. */
  perRank: boolean;
  /** One state, or one per rank. */
  states: readonly State[];
}

/** A part without its tensors, and the files that contain these. */
interface PartRecord extends Part<Tree> {
  files: readonly string[];
}

export const stateFile = 'state.json';

/**
 * Maximum bytes of tensors per file, except for a single larger tensor. A file must fit into one array (at
 * most 2 GiB).
 */
const maxFileBytes = 2 ** 30;

type Tensors = ReadonlyMap<string, ArrayWithShape>;

/**
 * Encodes the files of a checkpoint: `<part>.safetensors` for each part with tensors (or
 * `<part>-00001-of-00002.safetensors` and so on), and `state.json` with everything else. All values are
 * copied.
 */
export function encodeParts(
  parts: ReadonlyMap<string, Part<FlatState>>,
  allocate: Allocate,
  maxBytes = maxFileBytes,
): Map<string, Uint8Array> {
  const files = new Map<string, Uint8Array>();
  const records: Record<string, PartRecord> = {};
  for (const [name, { perRank, states }] of parts) {
    const groups = inGroups(tensorsOf(perRank, states), maxBytes);
    const names = groups.map((_, i) => fileName(name, i, groups.length));
    for (const [i, tensors] of groups.entries())
      files.set(
        names[i],
        encodeSafetensors(tensors, (bytes) => allocate(names[i], bytes)),
      );
    records[name] = { perRank, states: states.map(({ tree }) => tree), files: names };
  }
  // TextEncoder allocates a separate buffer (unlike Buffer's pool), because the whole buffer is transferred
  // to another thread.
  files.set(stateFile, new TextEncoder().encode(JSON.stringify({ parts: records })));
  return files;
}

/**
 * Reverses `encodeParts` and returns state dicts. Tensors are views of the files.
 *
 * @throws CheckpointError that names file and field, for files that `encodeParts` does not write
 */
export function decodeParts(files: ReadonlyMap<string, Uint8Array<ArrayBuffer>>): Map<string, Part<unknown>> {
  return new Map(
    partsIn(files.get(stateFile)).map(([name, record]): [string, Part<unknown>] => {
      const field = `parts.${printable(name, 100)}`;
      const { perRank, states, files: names } = requirePart(field, record);
      const tensors = tensorsIn(files, field, names);
      const stateOf = (tree: Tree, rank: number) =>
        unflatten(tree, (key) => tensors.get(keyOf(perRank, rank, key)), {
          name: `${stateFile}: ${field}.states.${rank}`,
          place: names.join(', ') || 'no file',
        });
      return [name, { perRank, states: states.map(stateOf) }];
    }),
  );
}

/** The records of the parts, as they are in the file. */
function partsIn(bytes: Uint8Array | undefined): [name: string, record: unknown][] {
  if (bytes === undefined) throw wrong('', 'the file', 'none');
  let content: unknown;
  try {
    content = JSON.parse(Buffer.from(bytes).toString('utf8'));
  } catch (error) {
    throw wrong('', 'JSON', `other text (${printable((error as Error).message, 200)})`);
  }
  const parts = isObject(content) ? content.parts : undefined;
  if (!isObject(parts)) throw wrong('parts', 'an object', describeJson(parts));
  return Object.entries(parts);
}

function requirePart(field: string, record: unknown): PartRecord {
  if (!isObject(record)) throw wrong(field, 'an object', describeJson(record));
  const { perRank, states, files } = record;
  if (typeof perRank !== 'boolean') throw wrong(`${field}.perRank`, 'true or false', describeJson(perRank));
  if (!Array.isArray(states)) throw wrong(`${field}.states`, 'an array', describeJson(states));
  if (!perRank && states.length !== 1) throw wrong(`${field}.states`, 'one state', describeJson(states));
  if (!Array.isArray(files) || files.some((file) => typeof file !== 'string'))
    throw wrong(`${field}.files`, 'an array of names', describeJson(files));
  return { perRank, states: states as Tree[], files: files as string[] };
}

function tensorsIn(
  files: ReadonlyMap<string, Uint8Array<ArrayBuffer>>,
  field: string,
  names: readonly string[],
): Map<string, ArrayWithShape> {
  const tensors = new Map<string, ArrayWithShape>();
  for (const [i, name] of names.entries()) {
    const bytes = files.get(name);
    if (bytes === undefined)
      throw wrong(`${field}.files.${i}`, "the name of one of the checkpoint's files", describeJson(name));
    for (const [key, tensor] of decodeFile(name, bytes)) {
      if (tensors.has(key)) throw wrong(`${field}.files`, `${quoted(key)} in one file`, 'it in two');
      tensors.set(key, tensor);
    }
  }
  return tensors;
}

function decodeFile(name: string, bytes: Uint8Array<ArrayBuffer>): Map<string, ArrayWithShape> {
  try {
    return decodeSafetensors(bytes);
  } catch (error) {
    const reason = printable((error as Error).message, 500);
    throw new CheckpointError('damaged', `${name}: expected safetensors, but ${reason}`, { cause: error });
  }
}

function wrong(field: string, expected: string, got: string): CheckpointError {
  const place = field === '' ? stateFile : `${stateFile}: ${field}`;
  return new CheckpointError('damaged', `${place}: expected ${expected}, got ${got}`);
}

function tensorsOf(perRank: boolean, states: readonly FlatState[]): Tensors {
  return new Map(
    states.flatMap(({ tensors }, rank) =>
      Array.from(tensors, ([key, tensor]) => [keyOf(perRank, rank, key), tensor] as const),
    ),
  );
}

function keyOf(perRank: boolean, rank: number, key: string): string {
  return perRank ? `rank-${rank}.${key}` : key;
}

/** Splits tensors into groups of at most `maxBytes`, in order. */
function inGroups(tensors: Tensors, maxBytes: number): Tensors[] {
  const groups: Map<string, ArrayWithShape>[] = [];
  let bytes = 0;
  for (const [key, tensor] of tensors) {
    if (groups.length === 0 || bytes + tensor.data.byteLength > maxBytes) {
      groups.push(new Map());
      bytes = 0;
    }
    groups.at(-1)!.set(key, tensor);
    bytes += tensor.data.byteLength;
  }
  return groups;
}

/** The files that contain a part, among those of a checkpoint. */
export function filesOfPart(part: string, files: Iterable<string>): string[] {
  const rest = /^(-\d{5}-of-\d{5})?\.safetensors$/;
  return [...files].filter(
    (file) => file === stateFile || (file.startsWith(part) && rest.test(file.slice(part.length))),
  );
}

/** Several files are named as Hugging Face names shards. */
function fileName(part: string, position: number, count: number): string {
  const padded = (n: number) => String(n).padStart(5, '0');
  return count === 1
    ? `${part}.safetensors`
    : `${part}-${padded(position + 1)}-of-${padded(count)}.safetensors`;
}
