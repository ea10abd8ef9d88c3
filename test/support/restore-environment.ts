import { afterAll } from 'vitest';

/** The environment before the first test file of this process. Files share processes, and some change variables. */
const key = Symbol.for('ringrun.test.environment');
const shared = globalThis as Partial<Record<symbol, NodeJS.ProcessEnv>>;
const original = (shared[key] ??= { ...process.env });

afterAll(() => {
  for (const name of Object.keys(process.env))
    if (!(name in original)) Reflect.deleteProperty(process.env, name);
  for (const [name, value] of Object.entries(original)) process.env[name] = value;
});
