export * from './collectives.ts';
export {
  defaultGroup,
  getBackend,
  getGlobalRank,
  getGroupRank,
  getNcclGroup,
  getProcessGroupRanks,
  getRank,
  getWorldSize,
  newGroup,
} from './groups.ts';
export type { GroupOption, NewGroupOptions } from './groups.ts';
export type { InitMethod } from './init-method.ts';
export { groupLinks, measureLinks } from './links.ts';
export * from './messages.ts';
export { destroyProcessGroup, initProcessGroup, isInitialized } from './process-group.ts';
export type { InitProcessGroupOptions } from './process-group.ts';
