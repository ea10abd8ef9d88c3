import { existsSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ownPackages } from '../worker/own-packages-names.ts';
import type { Executable } from './executable.ts';
import type { Script } from './script.ts';

/** A program and its arguments. */
export interface CommandLine {
  command: string;
  arguments: readonly string[];
  /** Only a script ends by itself when the launcher ends, and records its own errors. */
  kind: Executable['kind'];
}

/** The command that starts `executable` as a worker with its own `cpus` CPUs. */
export function workerCommand(executable: Executable, cpus: number): CommandLine {
  if (executable.kind === 'program') {
    return { command: executable.path, arguments: executable.arguments, kind: 'program' };
  }
  const preloads = preloadsFor(executable.script);
  const args = workerArguments(executable.script, executable.arguments, preloads, cpus);
  return { command: process.execPath, arguments: args, kind: 'script' };
}

/** Modules that a worker loads before its script. */
export interface Preloads {
  /** tsx, for TypeScript. */
  typescript: boolean;
  /** Hooks that resolve ringrun's packages from the launcher's folders, if the script's folder has none. */
  ownPackages: boolean;
}

/** The preloads that `script` needs. */
export function preloadsFor(script: Script): Preloads {
  return {
    typescript: script.language === 'typescript',
    ownPackages: !hasOwnPackages(script.path),
  };
}

/**
 * Arguments of `node` for one worker with its own `cpus` CPUs.
 *
 * Module hooks run in the reverse order of their registration: tsx is registered after ours, so that it calls them.
 */
export function workerArguments(
  script: Script,
  scriptArguments: readonly string[],
  preloads: Preloads,
  cpus: number,
): string[] {
  const imports = [
    preload('worker-setup'),
    ...(preloads.ownPackages ? [preload('own-packages')] : []),
    ...(preloads.typescript ? [new URL('../typescript/register.js', import.meta.url).href] : []),
  ];
  return [
    ...garbageCollection(cpus),
    ...imports.flatMap((url) => ['--import', url]),
    script.path,
    ...scriptArguments,
  ];
}

/**
 * V8 collects garbage on four threads. With one CPU per worker, these threads compete with each other and with other
 * workers: a step of the MNIST example took 19.7 ms, and 15.8 ms with one thread.
 */
function garbageCollection(cpus: number): string[] {
  return cpus === 1 ? ['--single-threaded-gc'] : [];
}

function preload(name: string): string {
  return new URL(`../worker/${name}.js`, import.meta.url).href;
}

/** Searches the same folders as `import`, which, unlike `require`, ignores NODE_PATH (set by package managers). */
function hasOwnPackages(script: string): boolean {
  const folders = withAncestors(dirname(realpathSync(script)));
  return ownPackages.every((name) =>
    folders.some((folder) => existsSync(join(folder, 'node_modules', name))),
  );
}

function withAncestors(folder: string): string[] {
  const parent = dirname(folder);
  return parent === folder ? [folder] : [folder, ...withAncestors(parent)];
}
