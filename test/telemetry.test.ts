import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { builtScript } from './support/built-script.ts';
import { node } from './support/command.ts';
import type { CommandOptions } from './support/command.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

const home = temporaryFolder();
// Before sending telemetry, onnxruntime writes an identifier, but not under CI, where these tests may run.
const env: CommandOptions['env'] = { HOME: home, XDG_CACHE_HOME: '', CI: '' };

test('onnxruntime sends no telemetry and writes nothing to the home folder', async () => {
  const [step, inWorker, doctor] = await Promise.all([
    node([builtScript('telemetry.script')], { env }).ended,
    node([builtScript('telemetry.script'), 'worker'], { env }).ended,
    node(['launch', 'doctor'], { env }).ended,
  ]);
  for (const { code, stdout, stderr } of [step, inWorker]) {
    // On a busy machine, a line says that compiling takes long.
    expect(stderr.replace(/^ringrun: compiling .*\n/, '')).toBe('');
    expect({ code, stdout }).toEqual({ code: 0, stdout: '0 2\n' });
  }
  expect(doctor.stdout).toMatch(/^ok {7}onnxruntime /m);
  expect(readdirSync(home)).toEqual([]);
});

test('an empty ORT_DISABLE_TELEMETRY enables telemetry', async () => {
  await node([builtScript('telemetry.script')], { env: { ...env, ORT_DISABLE_TELEMETRY: '' } }).ended;
  expect(readdirSync(home)).toEqual(['.cache']);
});
