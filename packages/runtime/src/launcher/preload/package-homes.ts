import { fileURLToPath } from 'node:url';

/**
 * Folders from which ringrun's packages are looked for, upwards: the launcher's own, above which lies the workspace or the
 * node_modules folder that it was installed in, and then the one where the command was given.
 */
export const packageHomes: readonly string[] = [
  fileURLToPath(new URL('.', import.meta.url)),
  `${process.cwd()}/`,
];
