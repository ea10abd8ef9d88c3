export { addressRoutedTowards } from './advertised-address.ts';
export { createCpuGroup } from './create.ts';
export type { CpuGroupOptions } from './create.ts';
export { hostIdentity } from './host-identity.ts';
export { silentPeerTimeout } from './silent-peers.ts';
export type { RequestedTransport, Transport } from './transport.ts';
