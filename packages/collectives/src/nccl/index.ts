export { createNcclGroup } from './create.ts';
export type { NcclGroupOptions } from './create.ts';
export { NcclGroup } from './nccl-group.ts';
