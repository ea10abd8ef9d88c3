import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import { CommandError } from '../../command-error.ts';
import { isTypeScript } from '../../typescript/run-typescript.ts';
import { dockerfileOf } from './dockerfile.ts';
import type { FolderContents } from './dockerfile.ts';
import { escapedPattern, ignoredBy } from './dockerignore.ts';
import { codeFoldersOf, filesOf, imageSummary } from './folder-files.ts';
import type { FolderFile } from './folder-files.ts';
import { dockerignoreOf } from './image-files.ts';
import type { Deployment } from './deployment.ts';

const { version } = createRequire(import.meta.url)('../../../package.json') as { version: string };

/** What `ringrun deploy` writes for `docker build`. */
export interface BuildFiles {
  /** Files to write, with their texts. */
  readonly files: readonly (readonly [path: string, text: string])[];
  /** Files among them that exist; lines are added to them. */
  readonly changed: readonly string[];
  readonly keepsDockerfile: boolean;
  /** Lines for the terminal about the contents of the image. */
  readonly summary: readonly string[];
}

/** Builders read the first of these that exists; Docker and Buildah differ in their names. */
const ignoreFiles = [
  '.dockerignore',
  ...['Dockerfile.dockerignore', '.containerignore', 'Dockerfile.containerignore'],
];

/**
 * Dockerfile and .dockerignore. An existing Dockerfile is kept, and so are the lines of an existing .dockerignore: --force
 * replaces manifests only.
 *
 * @param manifests paths of the manifests, which are not part of the image
 */
export function buildFiles(
  folder: string,
  { gpus, baseImage, script, include }: Deployment,
  { output, manifests }: { output: string; manifests: readonly string[] },
): BuildFiles {
  const contents = contentsOf(folder, script);
  const keepsDockerfile = existsSync(join(folder, 'Dockerfile'));
  const present = filesOf(folder);
  const secretFile = secretFileIn(folder, process.env['RINGRUN_SECRET_FILE']?.trim());
  const options = {
    ...(secretFile !== undefined && { secretFile }),
    output,
    manifests,
    codeFolders: codeFoldersOf(present),
    isOwnDockerfile: keepsDockerfile,
  };
  const needed = neededBy(script, contents);
  const existing = ignoreFiles.filter((path) => existsSync(join(folder, path)));
  const texts = ignoreFiles
    .filter((path) => path === '.dockerignore' || existing.includes(path))
    .map((path) => {
      const earlier = existing.includes(path) ? read(folder, path) : undefined;
      const isIgnored = ignoredBy(dockerignoreOf(earlier, { ...options, included: include }));
      const missing = keepsDockerfile ? [] : needed.filter(isIgnored).map(escapedPattern);
      const text = dockerignoreOf(earlier, { ...options, included: [...include, ...missing] });
      return { path, earlier, text };
    });
  for (const { text } of texts) refuseUseless(include, { folder, present, isIgnored: ignoredBy(text) });
  const written = texts.filter(({ earlier, text }) => earlier !== text);
  const dockerfile = ['Dockerfile', dockerfileOf(contents, { gpus, baseImage, version })] as const;
  const ownFiles = new Set(['Dockerfile', ...ignoreFiles, ...manifests]);
  const listed = present.filter(({ path }) => !ownFiles.has(path) && !path.startsWith(`${output}/`));
  return {
    files: [
      ...(keepsDockerfile ? [] : [dockerfile]),
      ...written.map(({ path, text }) => [path, text] as const),
    ],
    changed: written.flatMap(({ path, earlier }) => (earlier === undefined ? [] : [path])),
    keepsDockerfile,
    summary: imageSummary(listed, ignoredBy(texts.at(-1)!.text)),
  };
}

/** The path of the secret in the image, if it is in the folder. */
function secretFileIn(folder: string, path: string | undefined): string | undefined {
  if (!path) return undefined;
  const inside = relative(folder, resolve(folder, path));
  return inside === '' || inside.startsWith('..') || isAbsolute(inside) ? undefined : toSlashes(inside);
}

const toSlashes = (path: string) => path.split(sep).join('/');

/** The files that the Dockerfile or the job names. */
function neededBy(script: string, { hasPackageJson, hasPackageLock }: FolderContents): string[] {
  return [
    toSlashes(script),
    ...(hasPackageJson ? ['package.json'] : []),
    ...(hasPackageJson && hasPackageLock ? ['package-lock.json'] : []),
  ];
}

function read(folder: string, name: string): string {
  try {
    return readFileSync(join(folder, name), 'utf8');
  } catch (cause) {
    const { message } = cause as Error;
    throw new CommandError(1, `deploy: ${name} cannot be read: ${message}. Correct or remove it.`, { cause });
  }
}

interface Contents {
  folder: string;
  present: readonly FolderFile[];
  isIgnored: (path: string) => boolean;
}

/** A pattern without effect is a mistake that would only show at the start of the job. */
function refuseUseless(patterns: readonly string[], { folder, present, isIgnored }: Contents): void {
  for (const pattern of patterns) {
    const found = present.map(({ path }) => path).filter(ignoredBy(pattern));
    if (found.length === 0 && existsSync(join(folder, pattern))) found.push(pattern);
    if (found.length === 0) {
      throw new CommandError(
        2,
        `deploy: --include ${pattern}: expected files of ${folder}, got a pattern that matches none. Correct it.`,
      );
    }
    if (found.every(isIgnored)) {
      throw new CommandError(
        2,
        `deploy: --include ${pattern}: expected files that may be in an image, got ${found[0]}, which .dockerignore keeps out as a secret. ` +
          `Mount it as a Kubernetes Secret, or add the line !${pattern} at the end of .dockerignore.`,
      );
    }
  }
}

function contentsOf(folder: string, script: string): FolderContents {
  const path = join(folder, 'package.json');
  const hasPackageJson = existsSync(path);
  const dependencies = hasPackageJson ? dependenciesIn(path) : [];
  return {
    hasPackageJson,
    dependsOnRingrun: dependencies.includes('ringrun'),
    lacksTsx: isTypeScript(script) && !dependencies.includes('tsx'),
    hasPackageLock: existsSync(join(folder, 'package-lock.json')),
  };
}

function dependenciesIn(path: string): string[] {
  try {
    const { dependencies } = JSON.parse(readFileSync(path, 'utf8')) as { dependencies?: object };
    return Object.keys(dependencies ?? {});
  } catch (error) {
    throw new CommandError(
      1,
      `deploy: ${path} cannot be read as JSON: ${(error as Error).message}. Correct it.`,
      {
        cause: error,
      },
    );
  }
}
