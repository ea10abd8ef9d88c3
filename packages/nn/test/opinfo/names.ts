import { modules } from './modules.ts';
import { operations } from './operations/index.ts';
import { optimizers } from './optimizers.ts';

/** What the walk has: operations, modules and optimizers that torch has samples of, and ringrun has. */
export const names: readonly string[] = [
  ...Object.keys(operations).map((name) => `op ${name}`),
  ...Object.keys(modules).map((name) => `module ${name}`),
  ...optimizers.map((name) => `optimizer ${name}`),
];
