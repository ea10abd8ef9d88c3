// `ringrun deploy`: writes the manifests and the Dockerfile of a training job. Builds and applies nothing.
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { isAbsolute, join, normalize, relative, sep } from 'node:path';
import { CommandError } from '../launcher/launch-error.ts';
import { isTypeScript } from '../typescript/run-typescript.ts';
import { dockerfileOf, dockerignoreOf } from './dockerfile.ts';
import type { FolderContents } from './dockerfile.ts';
import { manifestsOf } from './manifests.ts';
import { nextSteps } from './next-steps.ts';
import { parseDeployment } from './options.ts';
import type { Deployment } from './options.ts';

const { version } = createRequire(import.meta.url)('../../package.json') as { version: string };

/**
 * Runs the command in `folder`, which becomes the image, and returns the exit code.
 *
 * @throws CommanderError for arguments that cannot work.
 * @throws CommandError if the script is missing or a manifest exists; nothing has been written.
 */
export function runDeploy(argv: readonly string[], folder = process.cwd()): number {
  const parsed = parseDeployment(argv, folder);
  const deployment = { ...parsed, script: scriptIn(folder, parsed.script) };
  const output = folderOfManifests(folder, deployment.output);
  const manifests = Object.entries(manifestsOf(deployment)).map(
    ([name, text]) => [join(output, name), text] as const,
  );
  refuseExisting(
    manifests.map(([path]) => path),
    folder,
    deployment,
  );

  mkdirSync(join(folder, output), { recursive: true });
  const written = [...buildFiles(folder, output, deployment), ...manifests];
  for (const [path, text] of written) writeFileSync(join(folder, path), text);
  process.stdout.write(nextSteps(deployment, { output, written: written.map(([path]) => path) }));
  return 0;
}

/** The script's path in the image, which has the folder's files. */
function scriptIn(folder: string, script: string): string {
  const path = isAbsolute(script) ? relative(folder, script) : normalize(script);
  if (path.startsWith(`..${sep}`)) {
    throw new CommandError(
      2,
      `deploy: expected a script in ${folder}, whose files become the image, got ${script}. Run the command in the folder of the script.`,
    );
  }
  if (statSync(join(folder, path), { throwIfNoEntry: false })?.isFile() !== true) {
    throw new CommandError(
      2,
      `deploy: there is no script ${script} in ${folder}. Run the command in the folder of the script.`,
    );
  }
  return path;
}

function folderOfManifests(folder: string, output: string): string {
  const path = isAbsolute(output) ? relative(folder, output) || '.' : normalize(output);
  const found = statSync(join(folder, path), { throwIfNoEntry: false });
  if (found === undefined || found.isDirectory()) return path.replace(/\/$/, '');
  throw new CommandError(2, `deploy: --output: expected a folder, got the file ${output}.`);
}

function refuseExisting(paths: readonly string[], folder: string, { force }: Deployment): void {
  const existing = paths.filter((path) => existsSync(join(folder, path)));
  if (force || existing.length === 0) return;
  throw new CommandError(
    1,
    `deploy: ${existing.join(' and ')} exist${existing.length === 1 ? 's' : ''}, so nothing was written. Add --force to replace manifests, or choose another --output.`,
  );
}

/** Dockerfile and .dockerignore, unless the folder has them: --force replaces manifests only. */
function buildFiles(
  folder: string,
  output: string,
  { gpus, baseImage, script }: Deployment,
): [string, string][] {
  const files: [string, string][] = [
    ['Dockerfile', dockerfileOf(contentsOf(folder, script), { gpus, baseImage, version })],
    ['.dockerignore', dockerignoreOf(output)],
  ];
  return files.filter(([path]) => !existsSync(join(folder, path)));
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
