import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { fakeComputeLibraries } from '../fake-gpu/libraries.ts';
import { compileDriverContract, driverContract } from './compile-driver-contract.ts';

test('the fake driver refuses what CUDA refuses', () => {
  const folder = mkdtempSync(join(tmpdir(), 'ringrun-driver-'));
  onTestFinished(() => {
    rmSync(folder, { recursive: true });
  });
  const binary = join(folder, 'driver-contract');
  compileDriverContract(binary);
  const { stdout, stderr } = spawnSync(binary, {
    encoding: 'utf8',
    env: { ...process.env, ...fakeComputeLibraries() },
    timeout: 60_000,
  });
  expect(stdout, stderr).toBe(driverContract);
}, 120_000);
