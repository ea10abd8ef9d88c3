import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { transformSync } from 'esbuild';
import { repository } from './environment.ts';

/**
 * The training script of an example as JavaScript, relative to the root of the repository. `node launch` compiles TypeScript
 * in every process, which takes 1 s of processor time in each. One test of each example starts its `train.ts`, as users do.
 *
 * @param example a package: `examples-mnist`
 */
export function compiledExample(example: string): string {
  const source = join('packages', example, 'train.ts');
  // In the package, so that it finds the packages that the example imports.
  const compiled = join('packages', example, 'dist/train.js');
  const { code } = transformSync(readFileSync(join(repository, source), 'utf8'), { loader: 'ts' });
  const path = join(repository, compiled);
  if (existsSync(path) && readFileSync(path, 'utf8') === code) return compiled;
  // Several test files may compile at once.
  const temporary = `${path}.${process.pid}`;
  writeFileSync(temporary, code);
  renameSync(temporary, path);
  return compiled;
}
