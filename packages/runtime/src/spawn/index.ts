export { spawn } from './spawn.ts';
export type { SpawnModule, SpawnOptions } from './spawn.ts';
