import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isUnfinished } from '../storage/directory-storage.ts';
import { checkpointsAmong, manifestName } from './catalogue.ts';
import { log } from './log.ts';

/**
 * Deletes the remains of killed writers in a folder of checkpoints: checkpoints without a manifest, and unfinished
 * files inside complete ones. Call it with the folder's lock, so that no other process writes there. Never rejects: the
 * remains only take space.
 */
export async function removeIncomplete(folder: string): Promise<void> {
  try {
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      const isCheckpoint = checkpointsAmong([{ name: `${entry.name}/`, bytes: 0 }]).length > 0;
      if (entry.isDirectory() && isCheckpoint) await removeIncompleteIn(join(folder, entry.name));
    }
  } catch (error) {
    log(`incomplete checkpoints in ${folder} were not deleted: ${(error as Error).message}`);
  }
}

async function removeIncompleteIn(checkpoint: string): Promise<void> {
  const files = await readdir(checkpoint);
  if (!files.includes(manifestName)) await rm(checkpoint, { recursive: true, force: true });
  else for (const file of files.filter(isUnfinished)) await rm(join(checkpoint, file), { force: true });
}
