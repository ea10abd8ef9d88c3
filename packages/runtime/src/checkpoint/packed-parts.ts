import type { Allocate } from './background-writer.ts';
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

/** Reverses `encodeParts` and returns state dicts. Tensors are views of the files. */
export function decodeParts(files: ReadonlyMap<string, Uint8Array<ArrayBuffer>>): Map<string, Part<unknown>> {
  const text = Buffer.from(files.get(stateFile)!).toString('utf8');
  const { parts } = JSON.parse(text) as { parts: Record<string, PartRecord> };
  return new Map(
    Object.entries(parts).map(([name, { perRank, states, files: names }]) => {
      const tensors = new Map(names.flatMap((file) => [...decodeSafetensors(files.get(file)!)]));
      const stateOf = (tree: Tree, rank: number) =>
        unflatten(tree, (key) => tensors.get(keyOf(perRank, rank, key))!);
      return [name, { perRank, states: states.map(stateOf) }];
    }),
  );
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

/** Several files are named as Hugging Face names shards. */
function fileName(part: string, position: number, count: number): string {
  const padded = (n: number) => String(n).padStart(5, '0');
  return count === 1
    ? `${part}.safetensors`
    : `${part}-${padded(position + 1)}-of-${padded(count)}.safetensors`;
}
