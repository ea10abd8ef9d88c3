// `ringrun deploy`: writes the manifests and the Dockerfile of a training job. Builds and applies nothing.
import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, isAbsolute, join, normalize, relative, sep } from 'node:path';
import { CommandError } from '../../command-error.ts';
import { awsPoliciesOf } from './aws-policies.ts';
import { buildFiles } from './build-files.ts';
import { checksOf } from './checks.ts';
import { manifestsOf } from './manifests.ts';
import { nextSteps } from './next-steps.ts';
import { parseDeployment } from './options.ts';
import type { Deployment } from './deployment.ts';

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
  const manifests = [
    ...filesIn(output, manifestsOf(deployment)),
    ...filesIn(join(output, 'checks'), checksOf(deployment)),
    ...filesIn(join(output, 'aws'), awsPoliciesOf(deployment)),
  ];
  refuseExisting(
    manifests.map(([path]) => path),
    folder,
    deployment,
  );
  const build = buildFiles(folder, deployment, { output, manifests: manifests.map(([path]) => path) });

  for (const [path, text] of [...build.files, ...manifests]) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  process.stdout.write(nextSteps(deployment, { output, build, manifests: manifests.map(([path]) => path) }));
  return 0;
}

function filesIn(folder: string, texts: Readonly<Record<string, string>>): [path: string, text: string][] {
  return Object.entries(texts).map(([name, text]) => [join(folder, name), text]);
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
