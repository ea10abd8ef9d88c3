export { readEnvironment } from './environment.ts';
export type { EnvironmentSettings } from './environment.ts';
export {
  allReduce,
  allReduceSync,
  barrier,
  barrierSync,
  broadcast,
  broadcastSync,
  defaultGroup,
  destroyProcessGroup,
  getBackend,
  getRank,
  getWorldSize,
  initProcessGroup,
  isInitialized,
} from './process-group.ts';
export type { GroupOption, InitProcessGroupOptions } from './process-group.ts';
