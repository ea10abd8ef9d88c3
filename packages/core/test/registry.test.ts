import { expect, test } from 'vitest';

import { joinRegistry } from '../src/registry.ts';

const key = Symbol.for('ringrun.registry');

test('two copies of the module share one registry', () => {
  const global = {};
  const first = joinRegistry(global, 'file:///a/registry.js');
  const second = joinRegistry(global, 'file:///b/registry.js');
  expect(second).toBe(first);
  expect(second.createdBy).toBe('file:///a/registry.js');
});

test('a newer copy adds the slots that the registry of an older one lacks', () => {
  const older = { layout: 1, createdBy: 'file:///a/registry.js', errorRecordIsInstalled: true };
  const joined = joinRegistry({ [key]: older }, 'file:///b/registry.js');
  expect(joined).toBe(older);
  expect(joined).toMatchObject({ errorRecordIsInstalled: true, randomStates: new Map() });
});

test('a different layout throws an error that names both copies', () => {
  const global = { [key]: { layout: 2, createdBy: 'file:///a/registry.js' } };
  expect(() => joinRegistry(global, 'file:///b/registry.js')).toThrow(
    expect.objectContaining({
      code: 'ERR_INCOMPATIBLE_VERSIONS',
      message:
        'Loading @ringrun/core failed: expected registry layout 1 (file:///b/registry.js), got 2 (file:///a/registry.js). ' +
        'Install the same version of ringrun, @ringrun/nn and @ringrun/tfjs; `npm ls @ringrun/core` lists the copies.',
    }),
  );
  expect(global[key]).toEqual({ layout: 2, createdBy: 'file:///a/registry.js' });
});
