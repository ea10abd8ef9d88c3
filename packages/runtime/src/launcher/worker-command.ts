import { existsSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ownPackages } from './preload/own-packages-names.ts';
import type { Executable } from './executable.ts';
import type { Script } from './script.ts';

/** A program and its arguments. */
export interface CommandLine {
  command: string;
  arguments: readonly string[];
  /** A script ends by itself when the launcher is gone, and records its own errors. */
  kind: Executable['kind'];
}

/** How `executable` is started as a worker that has `cpus` processors to itself. */
export function workerCommand(executable: Executable, cpus: number): CommandLine {
  if (executable.kind === 'program') {
    return { command: executable.path, arguments: executable.arguments, kind: 'program' };
  }
  const preloads = preloadsFor(executable.script);
  const args = workerArguments(executable.script, executable.arguments, preloads, cpus);
  return { command: process.execPath, arguments: args, kind: 'script' };
}

/** What a worker loads before its script. */
export interface Preloads {
  /** tsx, for TypeScript: on every Node, although some strip types themselves. */
  typescript: boolean;
  /** ringrun's packages from where the launcher finds them, because the script's folder has none. */
  ownPackages: boolean;
}

/** What `script` needs. */
export function preloadsFor(script: Script): Preloads {
  return {
    typescript: script.language === 'typescript',
    ownPackages: !hasOwnPackages(script.path),
  };
}

/**
 * Arguments of `node` for one worker that has `cpus` processors to itself.
 *
 * Module hooks run in the reverse order of their registration: tsx comes after ours, so that it asks them for what it resolves.
 */
export function workerArguments(
  script: Script,
  scriptArguments: readonly string[],
  preloads: Preloads,
  cpus: number,
): string[] {
  const imports = [
    preload('worker'),
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
 * V8 collects garbage on four threads at once. Where a worker has one CPU, they take turns on it with those of the other workers and wait for each
 * other: a step of the MNIST example took 19.7 ms that way, and 15.8 ms with one thread.
 */
function garbageCollection(cpus: number): string[] {
  return cpus === 1 ? ['--single-threaded-gc'] : [];
}

function preload(name: string): string {
  return new URL(`./preload/${name}.js`, import.meta.url).href;
}

/** Looks where `import` does: unlike `require`, it leaves out NODE_PATH, which package managers set for the commands that they run. */
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
