import { dirname, join, normalize } from 'node:path';
import type { WorkspacePackage } from './packages.ts';

/** Groups of files that import each other, directly or through others: sorted paths, the largest group first. */
export function circlesOf(packages: readonly WorkspacePackage[]): string[][] {
  return stronglyConnected(importGraphOf(packages))
    .filter((files) => files.length > 1)
    .map((files) => files.sort())
    .sort((a, b) => b.length - a.length || (a[0] < b[0] ? -1 : 1));
}

function importGraphOf(packages: readonly WorkspacePackage[]): Map<string, string[]> {
  const faces = new Map(packages.flatMap(({ faces }) => [...faces]));
  return new Map(
    packages.flatMap(({ files }) =>
      files.map(({ path, imports }) => [
        path,
        imports.flatMap((specifier) => {
          if (specifier.startsWith('.')) return [normalize(join(dirname(path), specifier))];
          return faces.get(specifier) ?? [];
        }),
      ]),
    ),
  );
}

/** Tarjan (1972). */
function stronglyConnected(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const found: string[][] = [];
  const number = new Map<string, number>();
  const lowest = new Map<string, number>();
  const open: string[] = [];
  const isOpen = new Set<string>();
  for (const node of graph.keys()) if (!number.has(node)) visit(node);
  return found;

  function visit(node: string): void {
    number.set(node, number.size);
    lowest.set(node, number.get(node)!);
    open.push(node);
    isOpen.add(node);
    for (const next of graph.get(node) ?? []) {
      if (!graph.has(next)) continue;
      if (!number.has(next)) visit(next);
      if (isOpen.has(next)) lowest.set(node, Math.min(lowest.get(node)!, lowest.get(next)!));
    }
    if (lowest.get(node) !== number.get(node)) return;
    const component = open.splice(open.indexOf(node));
    for (const one of component) isOpen.delete(one);
    found.push(component);
  }
}
