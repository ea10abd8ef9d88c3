import { dirname, join, normalize } from 'node:path';
import type { WorkspacePackage } from './packages.ts';

/** Packages of the workspace that a package may import, by name. */
export type Arrows = Readonly<Partial<Record<string, readonly string[]>>>;

/**
 * Imports that break the walls between packages, one line each: of a package that the arrows do not allow, of a file of another
 * package instead of an entry point, of a package that package.json does not declare; and packages declared but not imported.
 */
export function brokenWalls(packages: readonly WorkspacePackage[], arrows: Arrows): string[] {
  const byName = new Map(packages.map((one) => [one.name, one]));
  return packages.flatMap((one) => {
    const allowed = arrows[one.name];
    if (allowed === undefined) return [`${one.name} has no line in the list of arrows`];
    const used = new Set<string>();
    const broken = one.files.flatMap(({ path, imports }) =>
      imports.flatMap((specifier) => {
        if (specifier.startsWith('.')) {
          const target = normalize(join(dirname(path), specifier));
          return target.startsWith(`${one.folder}/`) ? [] : [`${path} leaves its package: ${specifier}`];
        }
        const other = byName.get(packageNameOf(specifier));
        if (other === undefined) return [];
        used.add(other.name);
        return [
          ...(allowed.includes(other.name) || other === one ? [] : [`${path} imports upwards: ${specifier}`]),
          ...(other.faces.has(specifier) ? [] : [`${path} passes an entry point: ${specifier}`]),
          ...(other === one || one.declared.includes(other.name)
            ? []
            : [`${path} imports ${other.name}, which package.json does not declare`]),
        ];
      }),
    );
    const unused = one.declared.filter((name) => byName.has(name) && !used.has(name));
    return [...broken, ...unused.map((name) => `${one.name} declares ${name} and does not import it`)];
  });
}

/** `@ringrun/core/errors` → `@ringrun/core`, `ringrun/launcher` → `ringrun` */
function packageNameOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}
