import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { workerArguments } from '../../src/job/worker-command.ts';
import type { Script } from '../../src/job/script.ts';

test('modules that a worker loads first exist as TypeScript sources, from which npm start runs', () => {
  const script: Script = { path: '/job/train.ts', language: 'typescript' };
  const args = workerArguments(script, [], { typescript: true, ownPackages: true }, 1);
  const modules = args.filter((one) => one.startsWith('file:')).map((url) => fileURLToPath(url));
  expect(modules).toHaveLength(3);
  for (const path of modules) expect(existsSync(path.replace(/\.js$/, '.ts')), path).toBe(true);
});
