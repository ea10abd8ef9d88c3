/**
 * Limits of one store, and of what one client can make it keep. Sized for jobs of 10,240 ranks; beyond that, a call is
 * refused with `ERR_STORE_LIMIT` and changes nothing.
 */
export interface StoreLimits {
  /** UTF-16 units of a key. ringrun's own have fewer than 200. */
  keyLength: number;
  /** Bytes of a value, as in torch's TCPStore. */
  valueBytes: number;
  /** Keys of one call, as in torch's TCPStore; 10,240 ranks wait for one key of each. */
  keysPerCall: number;
  /** Keys of one store: 200 for each of 10,240 ranks. */
  keys: number;
  /** Bytes of one store, with `keyOverheadBytes` for each key. */
  storedBytes: number;
  /** Calls of one client that wait at a time: a rank may read the keys of 10,240 others at once, in three groups. */
  waits: number;
  /** Bytes of the keys that one client waits for at a time, with `keyOverheadBytes` for each. */
  waitedBytes: number;
  /** Bytes of replies that one client has not read, and of the values in one reply. 10,240 values of 500 B are 5 MB. */
  unreadBytes: number;
}

const MiB = 2 ** 20;

export const storeLimits: StoreLimits = {
  keyLength: MiB / 4,
  valueBytes: 8 * MiB,
  keysPerCall: 131_072,
  keys: 2 * MiB,
  storedBytes: 1024 * MiB,
  waits: 32_768,
  waitedBytes: 64 * MiB,
  unreadBytes: 64 * MiB,
};

/** Memory of a key in addition to its text and its value: entries of maps and headers of objects. */
export const keyOverheadBytes = 256;

/** Bytes of one ZeroMQ frame: the two values of `compareSet` with a key, or the names of 131,072 keys of 130 bytes. */
export const frameBytes = 18 * MiB;

/** Bytes of a frame that a client accepts: `waitedBytes` limits the names in a reply, `unreadBytes` its values. */
export const replyBytes = 72 * MiB;

/** Characters of the name of a client. ringrun's own have 36. */
export const clientNameLength = 64;

/** Longest timeout in milliseconds of a call at the store: 34 years. A client sends it for longer and infinite ones. */
export const longestTimeoutMs = 2 ** 40;

/** Missing keys that the answer to a ping names for each waiting call; waiting clients ping every second. */
export const missingKeysInPong = 100;
