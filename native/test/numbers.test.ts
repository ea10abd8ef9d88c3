import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';

import { ways } from '../../test/support/extent.ts';
import { committedNumbers, currentNumbers, enumeratorsOf } from '../generate-numbers.js';

const native = dirname(dirname(fileURLToPath(import.meta.url)));

/** A copy of the generator, the headers it reads and the file it writes. */
function copyOfGenerator(): string {
  const folder = mkdtempSync(join(tmpdir(), 'ringrun-numbers-'));
  onTestFinished(() => {
    rmSync(folder, { recursive: true });
  });
  for (const path of [
    'generate-numbers.js',
    'lib/generated/numbers.ts',
    'src/base/operation.h',
    'src/base/failure.h',
  ]) {
    cpSync(join(native, path), join(folder, path));
  }
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  return folder;
}

function generate(folder: string, ...options: string[]) {
  return spawnSync(process.execPath, [join(folder, 'generate-numbers.js'), ...options], {
    encoding: 'utf8',
  });
}

test('the committed numbers equal those of the headers', () => {
  expect(committedNumbers()).toBe(currentNumbers());
});

test.each(
  ways(
    [
      ['src/base/operation.h', 'BFloat16 = 10,', 'BFloat16 = 10, Float8 = 11,', 'float8: 11,'],
      ['src/base/failure.h', 'PeerDied = 1,', 'RankDied = 1,', 'RANK_DIED: 1,'],
    ],
    [
      ['src/base/operation.h', 'AllReduce = 2,', 'AllReduce = 20,', 'allReduce: 20,'],
      ['src/base/operation.h', 'Bxor = 8,', 'Bxor = 9,', 'BXOR: 9,'],
    ],
  ),
)('--check fails until the file follows %s with %s changed to %s', (header, before, after, written) => {
  const folder = copyOfGenerator();
  expect(generate(folder, '--check')).toMatchObject({ status: 0, stderr: '' });
  const path = join(folder, header);
  const text = readFileSync(path, 'utf8');
  expect(text).toContain(before);
  writeFileSync(path, text.replace(before, after));
  const checked = generate(folder, '--check');
  expect(checked.status).toBe(1);
  expect(checked.stderr).toContain('native/lib/generated/numbers.ts is not current');
  expect(generate(folder).status).toBe(0);
  expect(readFileSync(join(folder, 'lib/generated/numbers.ts'), 'utf8')).toContain(written);
  expect(generate(folder, '--check').status).toBe(0);
});

test('rejects an enumerator without a number', () => {
  expect(() => enumeratorsOf('enum class Op : std::uint8_t {\n  Barrier,\n};', 'Op')).toThrow(
    'expected "Name = number" in enum class Op, got "Barrier"',
  );
});
