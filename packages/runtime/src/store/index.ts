export { describePortHolder, findPortHolder } from './port-holder.ts';
export type { PortHolder } from './port-holder.ts';
export { FileStore } from './file-store.ts';
export type { FileStoreOptions } from './file-store.ts';
export { PrefixStore } from './prefix-store.ts';
export { connectStore } from './client.ts';
export type { ConnectStoreOptions, StoreClient } from './client.ts';
export { StoreServer } from './server.ts';
