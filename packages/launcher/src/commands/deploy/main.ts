// `ringrun deploy`: writes the manifests and the Dockerfile of a training job. Builds and applies nothing.
import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { isAbsolute, join, normalize, relative, sep } from 'node:path';
import { CommandError } from '../../command-error.ts';
import { buildFiles } from './build-files.ts';
import { manifestsOf } from './manifests.ts';
import { nextSteps } from './next-steps.ts';
import { parseDeployment } from './options.ts';
import type { Deployment } from './options.ts';

/**
 * Runs the command in `folder`, which becomes the image, and returns the exit code.
 *
 * @throws CommanderError for arguments that cannot work.
 * @throws CommandError if the script is missing, a manifest exists, or --include names nothing that can be included; nothing
 * has been written.
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
  const build = buildFiles(folder, deployment, { output, manifests: manifests.map(([path]) => path) });

  mkdirSync(join(folder, output), { recursive: true });
  for (const [path, text] of [...build.files, ...manifests]) writeFileSync(join(folder, path), text);
  process.stdout.write(nextSteps(deployment, { output, build, manifests: manifests.map(([path]) => path) }));
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
