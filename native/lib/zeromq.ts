import { platformPackage } from './platform.ts';
import { resolved } from './resolved.ts';

/**
 * Path of the zeromq module in the addon's platform package. Undefined on other platforms and in the repository, which
 * use the npm package `zeromq`.
 */
export function findZeromq(): string | undefined {
  return resolved(import.meta.url, `${platformPackage()}/zeromq/lib/index.js`);
}
