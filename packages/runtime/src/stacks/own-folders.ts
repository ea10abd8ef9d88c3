import { framesOf } from './rank-state.ts';

/** Where the code of ringrun lies whose frames a report leaves out. */
const ownFolders = ['@ringrun/collectives', '@ringrun/core', '@ringrun/native']
  .map((name) => new URL('.', import.meta.resolve(name)).href)
  .concat(new URL('..', import.meta.url).href);

/** The frames of a stack outside of ringrun. */
export function ownFrames(stack: string): string[] {
  return framesOf(stack, ownFolders);
}
