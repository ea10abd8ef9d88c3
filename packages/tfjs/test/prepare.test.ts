import { createRequire } from 'node:module';
import { expect, test } from 'vitest';
import { prepareProcess } from '../src/process/prepare.ts';

// As tfjs-node reads them: from the module, at each call.
const util = createRequire(import.meta.url)('node:util') as Record<string, unknown>;

test('restores the functions of node:util that tfjs-node calls, and keeps existing ones', () => {
  const before = { isNullOrUndefined: util.isNullOrUndefined, isArray: util.isArray };
  try {
    delete util.isNullOrUndefined;
    const own = () => true;
    util.isArray = own;
    prepareProcess();
    const isNullOrUndefined = util.isNullOrUndefined as (value: unknown) => boolean;
    expect([null, undefined, 0, '', false, NaN].map(isNullOrUndefined)).toEqual([
      true,
      true,
      ...new Array<boolean>(4).fill(false),
    ]);
    expect(util.isArray).toBe(own);
  } finally {
    Object.assign(util, before);
  }
});
