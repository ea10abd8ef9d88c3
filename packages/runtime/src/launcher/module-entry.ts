import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { LaunchError } from './launch-error.ts';
import { abbreviated, findScript } from './script.ts';
import type { Script } from './script.ts';

/**
 * The entry of a package, or of a part of one (`package/part`), from the current folder as `import` finds it: by the conditions of its `exports`, upwards
 * through the folders node_modules. A process of its own asks, because a module can be resolved only from where it stands (40 ms).
 *
 * @throws LaunchError with exit code 2 when there is none, in Node's words, or when it is no file that Node runs.
 */
export function findModule(name: string): Script {
  // npm's limit is 214; the kernel takes no argument of 128 KiB.
  if (name.length > 1000) {
    throw new LaunchError(2, `-m ${abbreviated(name)}: expected the name of a package.`);
  }
  const program = 'process.stdout.write(import.meta.resolve(process.argv[1]))';
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--input-type=module', '--eval', program, '--', name],
    { encoding: 'utf8' },
  );
  if (status !== 0) {
    const words = /^(?:\w*Error\b.*?): (.*)$/m.exec(stderr)?.[1] ?? stderr.trim();
    throw new LaunchError(
      2,
      `No package ${name} is found from ${process.cwd()}: ${words}. Install it there, or give a script.`,
    );
  }
  if (!stdout.startsWith('file:')) {
    throw new LaunchError(2, `-m ${name} is ${stdout}, a part of Node itself: expected a package.`);
  }
  return findScript(fileURLToPath(stdout));
}
