export { addressRoutedTowards } from './advertised-address.ts';
export { createCpuGroup } from './create.ts';
export type { CpuGroupOptions } from './create.ts';
export { hostIdentity } from './host-identity.ts';
export type { RequestedTransport, Transport } from './transport.ts';
