import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { otherSystem } from '../lib/index.ts';
import { libraryNames } from '../lib/onnxruntime.ts';
import { isOfSystem, systemOf } from '../compile/systems.js';
import { repository } from '../../test/support/environment.ts';

test('Windows is refused with WSL 2 as the way out, Linux and macOS are not', () => {
  expect(otherSystem('win32')?.problem).toMatch(/^expected Linux or macOS, got Windows, /);
  expect(otherSystem('win32')?.fix).toContain('Use WSL 2');
  expect([otherSystem('linux'), otherSystem('darwin')]).toEqual([undefined, undefined]);
});

describe('a process on Windows', () => {
  const isWindows = `data:text/javascript,Object.defineProperty(process,'platform',{value:'win32'})`;
  const run = (script: string, module: string) =>
    spawnSync(
      process.execPath,
      ['--import', isWindows, '--input-type=module', '-e', script, join(repository, module)],
      { encoding: 'utf8' },
    );

  test.each(['packages/runtime/dist/index.js', 'packages/nn/dist/index.js'])(
    'is warned once by %s',
    (module) => {
      const { status, stderr } = run('await import(process.argv[1])', module);
      expect({ status, warnings: stderr.match(/got Windows.*Use WSL 2/g)?.length }).toEqual({
        status: 0,
        warnings: 1,
      });
    },
  );

  test('gets the same reason from the first operation, without an attempt to compile', () => {
    const first = `const { F, tensor } = await import(process.argv[1]);
await F.relu(tensor(Float32Array.of(1), [1])).array().catch((error) => console.log(error.message));`;
    const { stdout } = run(first, 'packages/nn/dist/index.js');
    expect(stdout).toContain('got Windows');
    expect(stdout).not.toContain('compil');
  });
});

test('sources are chosen by the system, and by RINGRUN_SYSTEM', () => {
  expect([systemOf({}, 'linux'), systemOf({}, 'darwin'), systemOf({}, 'freebsd')]).toEqual([
    'linux',
    'posix',
    'posix',
  ]);
  expect(systemOf({ RINGRUN_SYSTEM: 'posix' }, 'linux')).toBe('posix');
  expect(() => systemOf({ RINGRUN_SYSTEM: 'mac' })).toThrow('expected linux or posix, got mac');
  const names = ['base/futex_linux.cc', 'base/futex_posix.cc', 'base/wait.cc'];
  expect(names.filter((name) => isOfSystem(name, 'linux'))).toEqual(['base/futex_linux.cc', 'base/wait.cc']);
  expect(names.filter((name) => isOfSystem(name, 'posix'))).toEqual(['base/futex_posix.cc', 'base/wait.cc']);
});

test("libonnxruntime has the name by which onnxruntime-node's binding opens it", () => {
  expect(libraryNames('darwin')[0]).toBe('libonnxruntime.1.dylib');
  expect(libraryNames('linux')).toEqual(['libonnxruntime.so.1']);
  expect(libraryNames('win32')).toEqual([]);
});
