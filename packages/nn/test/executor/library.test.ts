import { spawnSync } from 'node:child_process';
import {
  closeSync,
  copyFileSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { findOnnxruntime, onnxruntimeVersion } from '@ringrun/native';
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts';
import { onnxruntimeExecutor } from '../../src/executor/cpu/onnxruntime.ts';
import { definitionOf } from '../support/executor-programs.ts';
import '../support/one-thread.ts';

/** The library that tests run on. */
function theLibrary(): string {
  const library = findOnnxruntime();
  if ('problem' in library) throw new Error(library.problem);
  return library.path;
}

describe('rejects an unusable library, naming it and the reason', () => {
  afterEach(() => {
    vi.unstubAllEnvs();
  });

  const compileWith = async (library: string) => {
    vi.stubEnv('RINGRUN_ONNXRUNTIME_LIBRARY', library);
    return await onnxruntimeExecutor.compile(definitionOf(2));
  };

  test('missing', async () => {
    await expect(compileWith('/nowhere/libonnxruntime.so.1')).rejects.toThrow(
      /^onnxruntime cannot be used: cannot load \/nowhere\/libonnxruntime.so.1: .*No such file.*\. Set RINGRUN_ONNXRUNTIME_LIBRARY to a libonnxruntime 1\.\S+ for \S+ \S+, or unset it\.$/,
    );
  });

  test('truncated', async () => {
    const library = join(temporaryFolder(), 'libonnxruntime.so.1');
    copyFileSync(theLibrary(), library);
    const file = openSync(library, 'r+');
    ftruncateSync(file, 100_000);
    closeSync(file);
    await expect(compileWith(library)).rejects.toThrow(
      `${library} is truncated. Set RINGRUN_ONNXRUNTIME_LIBRARY`,
    );
  });

  test('for another processor', async () => {
    const library = join(temporaryFolder(), 'libonnxruntime.so.1');
    const bytes = readFileSync(theLibrary());
    const [other, name] = bytes.readUInt16LE(18) === 0x3e ? [0xb7, 'arm64'] : [0x3e, 'x64'];
    bytes.writeUInt16LE(other, 18);
    writeFileSync(library, bytes);
    await expect(compileWith(library)).rejects.toThrow(
      `${library} is compiled for ${name}, expected ${process.arch}. Set RINGRUN_ONNXRUNTIME_LIBRARY`,
    );
  });

  test.each([
    [
      'another library',
      'int unrelated(void) { return 0; }',
      'libother.so is not onnxruntime: it has no OrtGetApiBase. Set ',
    ],
    [
      'an older version',
      `typedef struct { const void* (*getApi)(unsigned); const char* (*version)(void); } Base;
       static const void* getApi(unsigned version) { return version > 3 ? 0 : &getApi; }
       static const char* version(void) { return "1.3.1"; }
       static const Base base = { getApi, version };
       const Base* OrtGetApiBase(void) { return &base; }`,
      /expected onnxruntime 1\.\d+ or newer, got 1\.3\.1 in .*libother\.so\. Set /,
    ],
    ['a library without an API', 'void* OrtGetApiBase(void) { return 0; }', 'is not onnxruntime'],
  ])('%s', async (_, source, reason) => {
    const folder = temporaryFolder();
    const library = join(folder, 'libother.so');
    writeFileSync(join(folder, 'other.c'), source);
    const { status, stderr } = spawnSync('gcc', ['-shared', '-fPIC', '-o', library, join(folder, 'other.c')]);
    expect(status, String(stderr)).toBe(0);
    await expect(compileWith(library)).rejects.toThrow(reason);
  });
});

describe('the library of onnxruntime', () => {
  /** A program's folder with an onnxruntime-node of this version that has a library, if `has`. */
  const programWith = (version: string, has = true) => {
    const folder = temporaryFolder();
    const its = join(folder, 'node_modules/onnxruntime-node');
    const bin = join(its, 'bin/napi-v6', process.platform, process.arch);
    mkdirSync(bin, { recursive: true });
    writeFileSync(join(its, 'package.json'), JSON.stringify({ name: 'onnxruntime-node', version }));
    if (has) writeFileSync(join(bin, 'libonnxruntime.so.1'), '');
    return { program: pathToFileURL(join(folder, 'train.js')).href, its, bin };
  };

  test('is from the installed onnxruntime-node', () => {
    const { program, its, bin } = programWith(onnxruntimeVersion);
    expect(findOnnxruntime(program)).toEqual({
      path: join(bin, 'libonnxruntime.so.1'),
      fix: `Install it again: remove ${its}, then run npm install`,
    });
    const bare = programWith(onnxruntimeVersion, false);
    expect(findOnnxruntime(bare.program)).toEqual(findOnnxruntime());
  });

  test.each(['1.20.1', '1.24.3', '1.30.0'])('is from an onnxruntime-node %s', (version) => {
    const { program, bin } = programWith(version);
    expect(findOnnxruntime(program)).toMatchObject({ path: join(bin, 'libonnxruntime.so.1') });
  });

  test('is not from an onnxruntime-node that is too old or too new', () => {
    for (const version of ['1.14.0', '1.19.2', '2.0.0'])
      expect(findOnnxruntime(programWith(version).program)).toEqual(findOnnxruntime());
  });
});
