// A folder for the snippets of each page, in which packages resolve as in a user's project.
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { buildSync } from 'esbuild';
import { repository } from '../environment.ts';
import type { Module } from './page-module.ts';

const root = join(repository, 'test/dist/snippets');

/** Files that pages name as users have them, and their paths on this machine. */
export type StandIns = readonly (readonly [text: string | RegExp, standIn: string])[];

export function withStandIns(text: string, standIns: StandIns): string {
  return standIns.reduce((result, [from, to]) => result.replaceAll(from, to), text);
}

export const folderOf = (path: string): string => join(root, path.replaceAll(/\W+/g, '-'));

export function emptyProject(): string {
  rmSync(root, { recursive: true, force: true });
  mkdirSync(root, { recursive: true });
  const compilerOptions = {
    noEmit: true,
    strict: true,
    target: 'ES2022',
    lib: ['ES2023'],
    module: 'NodeNext',
    types: ['node'],
    skipLibCheck: true,
    allowJs: true,
    checkJs: true,
  };
  writeFileSync(join(root, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['**/*'] }));
  return root;
}

/** A training script for pages that start the reader's own script. */
const ofTheReader = `import * as dist from 'ringrun';
await dist.initProcessGroup();
const values = Float32Array.of(dist.getRank() + 1);
await dist.allReduce(values);
const { length } = Array.from({ length: dist.getWorldSize() });
if (values[0] !== (length * (length + 1)) / 2) throw new Error(\`got \${values[0]}\`);
await dist.destroyProcessGroup();
`;

export function writePage(path: string, files: readonly Module[], standIns: StandIns): void {
  const folder = folderOf(path);
  mkdirSync(folder, { recursive: true });
  const dependencies = { ringrun: '*', '@ringrun/nn': '*', tsx: '*' };
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module', dependencies }));
  for (const name of ['train.ts', 'train.js']) writeFileSync(join(folder, name), ofTheReader);
  for (const { name, code } of files) writeFileSync(join(folder, name), withStandIns(code, standIns));
}

/**
 * Arguments of `node` that run a module of a page, compiled before: tsx takes 1 s of processor time to load ringrun. Modules
 * that name files by their own URL run in place, with tsx.
 */
export function argumentsFor(path: string, name: string): string[] {
  const folder = folderOf(path);
  if (readFileSync(join(folder, name), 'utf8').includes('import.meta')) return ['--import', 'tsx', name];
  const compiled = `${name}.mjs`;
  const common = { bundle: true, packages: 'external', platform: 'node', format: 'esm' } as const;
  buildSync({
    ...common,
    absWorkingDir: folder,
    entryPoints: [name],
    outfile: compiled,
    sourcemap: 'inline',
  });
  return ['--enable-source-maps', compiled];
}

/** PATH with \`ringrun\`, and an \`npx\` that finds it, as after \`npm install\`. */
export function pathWithRingrun(): string {
  const bin = join(root, '.bin');
  mkdirSync(bin, { recursive: true });
  const command = `exec ${process.execPath} ${join(repository, 'packages/runtime/bin/ringrun.js')}`;
  writeFileSync(join(bin, 'ringrun'), `#!/bin/sh\n${command} "$@"\n`);
  writeFileSync(join(bin, 'npx'), `#!/bin/sh\n[ "$1" = ringrun ] || exit 99\nshift\n${command} "$@"\n`);
  for (const name of ['ringrun', 'npx']) chmodSync(join(bin, name), 0o755);
  return `${bin}${delimiter}${process.env['PATH']}`;
}
