export { describeNccl } from '@ringrun/native';
export type { NcclDescription } from '@ringrun/native';
export { whyUnavailable as whyNcclIsUnavailable } from './availability.ts';
export { createNcclGroup } from './create.ts';
export type { NcclGroupOptions } from './create.ts';
export { NcclGroup } from './nccl-group.ts';
