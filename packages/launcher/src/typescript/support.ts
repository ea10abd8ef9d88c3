import { createRequire } from 'node:module';
import { missingPackage } from '@ringrun/core';

/** Runs TypeScript: the package tsx, or the type stripping of Node.js (22.18 or later). */
export type TypeScriptSupport = 'tsx' | 'node';

/**
 * tsx if it is installed, because Node's own type stripping refuses enums, namespaces, parameter properties, imports
 * without extension and `./x.js` for x.ts.
 */
export function typescriptSupport(): TypeScriptSupport | undefined {
  try {
    createRequire(import.meta.url).resolve('tsx/cjs/api');
    return 'tsx';
  } catch {
    // Unknown to the types of Node 20.
    return (process.features as { typescript?: unknown }).typescript ? 'node' : undefined;
  }
}

/** The error if neither is available. `script` is its path. */
export function noTypeScript(script: string): Error {
  return missingPackage(`running ${script} on Node.js ${process.versions.node}`, 'tsx');
}
