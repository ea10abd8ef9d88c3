export { addressRoutedTowards } from './advertised-address.ts';
export { createCpuGroup } from './create.ts';
export type { CpuGroupOptions } from './create.ts';
export { hostIdentity } from './host-identity.ts';
export type { RequestedTransport } from './requested-transport.ts';
export { silentPeerTimeout } from './silent-peers.ts';
export type { Transport } from './transport.ts';
