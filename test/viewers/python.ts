import { spawnSync } from 'node:child_process';
import { environmentWith } from '../support/environment.ts';

/** A Python with the packages tensorboard and viztracer, such as that of a virtual environment. */
export const python = process.env['RINGRUN_VIEWERS_PYTHON'] ?? 'python3';

/** Why this Python cannot import a package; undefined if it can. */
export function packageProblem(name: string): string | undefined {
  const { status } = spawnSync(python, ['-c', `import ${name}`], { env: environmentWith({}) });
  return status === 0
    ? undefined
    : `${python} has no ${name} (pip install ${name}; RINGRUN_VIEWERS_PYTHON selects another Python)`;
}
