export { addressRoutedTowards } from './advertised-address.ts';
export { createGlooGroup } from './create.ts';
export type { GlooGroupOptions } from './create.ts';
export { hostIdentity } from './host-identity.ts';
export type { RequestedTransport, Transport } from './transport.ts';
