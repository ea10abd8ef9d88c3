import { framesOf } from './rank-state.ts';

/** Packages whose frames a report leaves out. */
const packages = [
  'ringrun',
  '@ringrun/collectives',
  '@ringrun/core',
  '@ringrun/launcher',
  '@ringrun/native',
  '@ringrun/rendezvous',
];

const ownFolders = packages.flatMap(folderOf);

/** The frames of a stack that are not ringrun's. */
export function ownFrames(stack: string): string[] {
  return framesOf(stack, ownFolders);
}

/** `ringrun` depends on this package, so only an installer's layout decides whether it is found from here. */
function folderOf(name: string): string[] {
  try {
    // Threads run modules beside the bundle.
    return [new URL('.', import.meta.resolve(name)).href.replace(/bundle\/$/, '')];
  } catch {
    return [];
  }
}
