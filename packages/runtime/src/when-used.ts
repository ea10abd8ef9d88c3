import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/**
 * Loads a CommonJS package when it is used for the first time, for code that cannot await an import: every process of a job loads ringrun, and few use all of it.
 */
export function whenUsed(name: string): () => unknown {
  return () => require(name) as unknown;
}
