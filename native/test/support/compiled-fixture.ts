import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect } from 'vitest';
import { repository } from '../../../test/support/environment.ts';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';

const source = join(repository, 'native/src');
// A preloaded sanitizer is for the addon.
const env = { ...process.env, LD_PRELOAD: '' };

/** Compiles `fixtures/<name>.cc` with these files of `native/src`, and returns a function that expects it to succeed. */
export function compiledFixture(name: string, files: readonly string[]): (...args: string[]) => void {
  const program = join(temporaryFolder(), name);
  const sources = [
    join(repository, `native/test/fixtures/${name}.cc`),
    ...files.map((file) => join(source, file)),
  ];
  const flags = ['-std=c++17', '-O1', '-Wall', '-Wextra', '-Werror', '-pthread', '-I', source];
  const compiled = spawnSync(process.env['CXX'] ?? 'g++', [...flags, '-o', program, ...sources], {
    encoding: 'utf8',
    env,
  });
  expect({ status: compiled.status, stderr: compiled.stderr }).toEqual({ status: 0, stderr: '' });
  return (...args) => {
    const { status, stderr } = spawnSync(program, args, { encoding: 'utf8', env });
    expect({ args, status, stderr }).toEqual({ args, status: 0, stderr: '' });
  };
}
