import { modules } from './modules.ts';
import { operations } from './operations/index.ts';
import { optimizers } from './optimizers.ts';

/** Names to test: operations, modules and optimizers that torch has samples for and ringrun implements. */
export const names: readonly string[] = [
  ...Object.keys(operations).map((name) => `op ${name}`),
  ...Object.keys(modules).map((name) => `module ${name}`),
  ...optimizers.map((name) => `optimizer ${name}`),
];
