import Module from 'node:module';
import type { ResolveFnOutput, ResolveHookContext } from 'node:module';

/** A hook that runs in the thread of the modules, unlike those of `module.register`. */
export type SyncResolve = (
  specifier: string,
  context: ResolveHookContext,
  next: (specifier: string, context?: Partial<ResolveHookContext>) => ResolveFnOutput,
) => ResolveFnOutput;

type RegisterHooks = (hooks: { resolve: SyncResolve }) => void;

/** The first versions in which tsx uses `module.registerHooks`. It works for `require`, too, from these on. */
const firstVersions: Readonly<Record<number, readonly [minor: number, patch: number]>> = {
  22: [22, 3],
  24: [11, 1],
  25: [1, 0],
};

/**
 * `module.registerHooks`, or undefined in versions of Node.js in which tsx uses `module.register`, which Node.js 26 reports as
 * deprecated (DEP0205). Hooks nest in the order of their registration only if all are of one kind.
 */
export const registerHooks: RegisterHooks | undefined = nestsWithTsx(process.versions.node)
  ? // Unknown to the types of Node 20.
    (Module as unknown as { registerHooks: RegisterHooks }).registerHooks
  : undefined;

/** Whether tsx uses `module.registerHooks` in this version of Node.js. */
export function nestsWithTsx(version: string): boolean {
  const [major, minor, patch] = version.split('.').map((part) => Number.parseInt(part, 10));
  if (major >= 26) return true;
  const first = firstVersions[major] as (typeof firstVersions)[number] | undefined;
  return first !== undefined && (minor > first[0] || (minor === first[0] && patch >= first[1]));
}
