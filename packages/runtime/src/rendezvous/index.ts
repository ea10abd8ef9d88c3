export { describePortHolder, findPortHolder } from './port-holder.ts';
export type { PortHolder } from './port-holder.ts';
export { PrefixStore } from './prefix-store.ts';
export { connectStore } from './store-client.ts';
export type { ConnectStoreOptions, StoreClient } from './store-client.ts';
export { StoreServer } from './store-server.ts';
