export { createGlooGroup } from './create.ts';
export type { GlooGroupOptions } from './create.ts';
export type { Transport } from './transport.ts';
