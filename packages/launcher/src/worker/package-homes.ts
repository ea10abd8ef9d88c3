import { fileURLToPath } from 'node:url';

/**
 * Folders from which ringrun's packages are resolved, upwards: the launcher's own, which is inside the workspace or a
 * node_modules folder, and then the current folder of the command.
 */
export const packageHomes: readonly string[] = [
  fileURLToPath(new URL('.', import.meta.url)),
  `${process.cwd()}/`,
];
