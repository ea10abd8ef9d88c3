/** An entry of a storage. */
export interface StoredObject {
  /** Relative to the storage's location, with `/` between its parts. */
  name: string;
  /** Size in bytes. */
  bytes: number;
}

/** An entry of {@link Storage.entries}: an object with bytes, or something else. */
export interface StorageEntry {
  /** Relative to the storage's location, with `/` between its parts. */
  name: string;
  /**
   * `object`: has bytes. `folder`: only in folders, and for the empty objects with which consoles mark folders. `no
   * file`: a socket, pipe or device. Links have the kind of their target, unless the target is missing or a folder
   * above.
   */
  kind: 'object' | 'folder' | 'no file' | 'broken link' | 'link to a folder above it';
}

/**
 * Named bytes in a folder, a mounted volume, or a prefix of a bucket.
 *
 * Names have parts separated by `/`, such as `step-100/rank-0.bin`. Methods reject with `InvalidArgumentError` for a
 * name that leaves the storage, and with `StorageError` if the operation fails.
 */
export interface Storage {
  /** The folder's path, or `s3://bucket/prefix`, for messages. */
  readonly location: string;

  /** All objects whose names begin with `prefix`, sorted by name. Default: all. Empty if no name matches. */
  list(prefix?: string): Promise<StoredObject[]>;

  /**
   * All entries whose names begin with `prefix`, in no order and without their sizes, each as soon as it is found: for
   * folders of millions of files. Links to folders are followed. Default: all.
   */
  entries(prefix?: string): AsyncIterable<StorageEntry>;

  /** All bytes of `name`. If it does not exist, rejects with a `StorageError` with the problem `not found`. */
  read(name: string): Promise<Uint8Array<ArrayBuffer>>;

  /** Size of `name` in bytes. Rejects like `read`. */
  size(name: string): Promise<number>;

  /**
   * The bytes of `name` from `begin` to before `end`, for a part of a large object. Rejects like `read`, and if `name` has
   * fewer bytes.
   */
  readRange(name: string, begin: number, end: number): Promise<Uint8Array<ArrayBuffer>>;

  /**
   * The bytes of `name` in chunks, in order, for objects that should not be in memory whole. If a connection breaks, it
   * continues with the same version of the object. Rejects like `read`.
   */
  chunks(name: string): AsyncIterable<Uint8Array>;

  /**
   * Writes or replaces `name`, atomically: readers find the complete old or new bytes, even after a crash. The bytes
   * are durable when the promise resolves.
   */
  write(name: string, bytes: Uint8Array): Promise<void>;

  /**
   * Removes `name`. No error if it does not exist. Rejects with a `StorageError` if a folder of the name is a symbolic
   * link: nothing outside of the storage is deleted.
   */
  delete(name: string): Promise<void>;

  /**
   * Removes all names that begin with `folder/`, including incomplete files left by a crash. Of symbolic links, only the
   * links are removed. No error if nothing matches.
   *
   * @param first the name below `folder` to remove before all others. Default: in no order.
   */
  deleteFolder(folder: string, first?: string): Promise<void>;
}
