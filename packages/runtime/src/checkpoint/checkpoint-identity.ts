import type { Storage } from '../storage/index.ts';
import { manifestName, newestFirst } from './catalogue.ts';
import type { CheckpointEntry } from './catalogue.ts';
import { decodeManifest, fileRecordOf } from './manifest.ts';

/** A listed checkpoint, with the properties that distinguish it from others of the same name. */
export interface SeenCheckpoint extends CheckpointEntry {
  /** SHA-256 of its manifest, which contains those of all files. Undefined if it was not read or is damaged. */
  digest?: string;
  /** `Manifest.training`. */
  training?: string | undefined;
  /** `Manifest.after`. */
  after?: readonly string[] | undefined;
  /** `Manifest.time`. */
  time?: string;
}

/** Manifests that each rank reads before the ranks agree on a checkpoint. Older ones are fallbacks at most. */
const maxRead = 16;

/** Reads the manifests of the newest complete checkpoints. A damaged one is reported when it is about to be loaded. */
export async function identify(
  storage: Storage,
  entries: readonly CheckpointEntry[],
): Promise<SeenCheckpoint[]> {
  const newest = new Set(newestFirst(entries).slice(0, maxRead));
  return await Promise.all(
    entries.map(async (entry) => {
      if (!newest.has(entry)) return entry;
      try {
        const bytes = await storage.read(`${entry.name}/${manifestName}`);
        const { training, after, time } = decodeManifest(bytes, entry.name);
        return { ...entry, digest: (await fileRecordOf(bytes)).sha256, training, after, time };
      } catch {
        return entry;
      }
    }),
  );
}
