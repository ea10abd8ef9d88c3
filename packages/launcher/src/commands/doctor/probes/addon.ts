// Loads the addon as training does, and prints its file.
import { readFileSync } from 'node:fs';
import { createCpuGroup, HashStore } from '@ringrun/collectives';

/** `file` is empty without /proc. */
export interface AddonAnswer {
  file: string;
}

const group = await createCpuGroup({ store: new HashStore(), rank: 0, size: 1 });
process.stdout.write(JSON.stringify({ file: loadedAddon() } satisfies AddonAnswer));
await group.destroy();

function loadedAddon(): string {
  try {
    return /\/.*\.node$/m.exec(ownLibraries('ringrun'))?.[0] ?? '';
  } catch {
    return '';
  }
}

/** Lines of /proc/self/maps with the library, or with the file in RINGRUN_NATIVE. */
function ownLibraries(name: string): string {
  const lines = readFileSync('/proc/self/maps', 'utf8').split('\n');
  return lines.filter((line) => line.includes(process.env['RINGRUN_NATIVE'] ?? `/${name}.node`)).join('\n');
}
