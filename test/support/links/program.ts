import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { repository } from '../environment.ts';

const source = join(repository, 'test/support/links/emulator.cc');
const cache = join(repository, 'node_modules/.cache/ringrun-links');
const flags = ['-std=c++17', '-O2', '-Wall', '-Wextra', '-Werror'];

/** Compiles the link emulator if it has changed, and returns the path of the program. */
export function emulatorProgram(): string {
  const hash = createHash('sha256').update(flags.join(' ')).update(readFileSync(source)).digest('hex');
  const program = join(cache, `emulator-${hash.slice(0, 16)}`);
  if (existsSync(program)) return program;
  mkdirSync(cache, { recursive: true });
  // Written to a temporary name first, because two test files may compile at once.
  const temporary = `${program}.${process.pid}.tmp`;
  const compiler = process.env['CXX'] ?? 'g++';
  const { status, stderr, error } = spawnSync(compiler, [...flags, source, '-o', temporary], {
    encoding: 'utf8',
    env: { ...process.env, LD_PRELOAD: '' },
  });
  if (status !== 0) {
    rmSync(temporary, { force: true });
    throw new Error(`the link emulator did not compile with ${compiler}: ${error?.message ?? stderr}`);
  }
  renameSync(temporary, program);
  return program;
}
