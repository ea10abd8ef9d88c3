import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { repository } from './support/environment.ts';

test("the README's training script is train.ts, character for character", () => {
  const readme = readFileSync(join(repository, 'README.md'), 'utf8');
  const blocks = [...readme.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code);
  const [script] = blocks.filter((code) => code.startsWith('// node launch --nproc 2 train.ts\n'));
  expect(script).toBe(readFileSync(join(repository, 'train.ts'), 'utf8'));
});
