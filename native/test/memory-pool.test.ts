import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { repository } from '../../test/support/environment.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { systemOf } from '../compile/systems.js';

const source = join(repository, 'native/src');

// MADV_FREE returns pages only when memory is short.
const problem = systemOf() === 'linux' ? '' : ': skipped, pages are returned later outside of Linux';

test.skipIf(problem)(
  `blocks of the memory pool never overlap, merge when freed, and trim returns their pages${problem}`,
  () => {
    const program = join(temporaryFolder(), 'memory-pool');
    const files = [
      join(repository, 'native/test/fixtures/memory-pool.cc'),
      join(source, 'onnxruntime/memory_pool.cc'),
      join(source, `base/pages_${systemOf()}.cc`),
    ];
    const flags = ['-std=c++17', '-O1', '-Wall', '-Wextra', '-Werror', '-pthread', '-I', source];
    const compiled = spawnSync(process.env['CXX'] ?? 'g++', [...flags, '-o', program, ...files], {
      encoding: 'utf8',
      env: { ...process.env, LD_PRELOAD: '' },
    });
    expect({ status: compiled.status, stderr: compiled.stderr }).toEqual({ status: 0, stderr: '' });
    for (const seed of ['1', '2', '3']) {
      const { status, stderr } = spawnSync(program, [seed], {
        encoding: 'utf8',
        env: { ...process.env, LD_PRELOAD: '' },
      });
      expect({ seed, status, stderr }).toEqual({ seed, status: 0, stderr: '' });
    }
  },
);
