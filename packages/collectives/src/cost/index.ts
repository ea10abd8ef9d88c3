export { algorithmRules } from './algorithm-rules.ts';
export type { AlgorithmRule } from './algorithm-rules.ts';
export { defaultProcessor, equalLinks, payloadShare, linuxTcp } from './network.ts';
export type { CostNetwork, Processor, Tcp } from './network.ts';
export { costAlgorithms, operationSeconds } from './operation-seconds.ts';
export type { CostOperation, OperationCost } from './operation-seconds.ts';
export { ringOrder } from './ring-order.ts';
export { quantizedBytes } from './schedules/quantized.ts';
