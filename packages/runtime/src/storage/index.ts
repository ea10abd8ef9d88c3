export { openStorage } from './open-storage.ts';
export type { Storage, StorageEntry, StoredObject } from './storage.ts';
export { StorageError } from './storage-error.ts';
export type { StorageProblem } from './storage-error.ts';
