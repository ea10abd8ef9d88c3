import { statSync } from 'node:fs';
import { join } from 'node:path';
import { repository } from './environment.ts';

/**
 * The compiled form of `<name>.ts` in this folder's parent, relative to the root of the repository. Processes start it
 * instead of the TypeScript source, because compiling on the fly takes 0.7 s of processor time in each process.
 *
 * @throws Error if the source is newer than the last `tsc --build`
 */
export function builtScript(name: string): string {
  const builtAt =
    statSync(join(repository, 'test/dist/.tsbuildinfo'), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (statSync(join(repository, `test/${name}.ts`)).mtimeMs > builtAt) {
    throw new Error(`test/${name}.ts is newer than its build in test/dist. Run \`npm run setup\`.`);
  }
  return `test/dist/${name}.js`;
}
