import { createRequire } from 'node:module';
import { platformPackage } from './platform.ts';

/**
 * Path of the zeromq module in the addon's platform package. Undefined on other platforms and in the repository, which
 * use the npm package `zeromq`.
 */
export function findZeromq(): string | undefined {
  try {
    return createRequire(import.meta.url).resolve(`${platformPackage()}/zeromq/lib/index.js`);
  } catch {
    return undefined;
  }
}
