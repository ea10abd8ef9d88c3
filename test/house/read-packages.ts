import { readdirSync, readFileSync } from 'node:fs';
import { join, normalize } from 'node:path';
import ts from 'typescript';
import type { SourceFile, WorkspacePackage } from './packages.ts';

interface Manifest {
  readonly name: string;
  readonly exports: Readonly<Record<string, { readonly source: string }>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

/** Reads the package of a folder, with the imports of each source file as TypeScript's scanner sees them. */
export function readPackage(root: string, folder: string): WorkspacePackage {
  const manifest = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')) as Manifest;
  const faces = new Map(
    Object.entries(manifest.exports).map(([subpath, { source }]) => [
      // './typescript' → 'ringrun/typescript', '.' → 'ringrun'
      `${manifest.name}${subpath.slice(1)}`,
      normalize(join(folder, source)),
    ]),
  );
  return {
    name: manifest.name,
    folder,
    faces,
    declared: Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies }),
    files: sourcesIn(join(root, folder)).map((name) => readSource(root, join(folder, name))),
  };
}

/** All files of a package that are written by hand, without tests. */
function sourcesIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => !['build', 'dist', 'node_modules', 'test'].includes(name))
    .flatMap((entry) => {
      if (!entry.isDirectory()) return [entry.name];
      const names = readdirSync(join(folder, entry.name), { encoding: 'utf8', recursive: true });
      return names.map((name) => join(entry.name, name));
    })
    .filter((name) => /\.[jt]s$/.test(name) && !name.endsWith('.d.ts'))
    .sort();
}

function readSource(root: string, path: string): SourceFile {
  const { importedFiles } = ts.preProcessFile(readFileSync(join(root, path), 'utf8'), true, true);
  return { path, imports: importedFiles.map(({ fileName }) => fileName) };
}
