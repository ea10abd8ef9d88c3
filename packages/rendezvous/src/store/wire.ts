import { decodeMessage, encodeMessage } from './protobuf.ts';
import type { Fields, Message } from './protobuf.ts';

/**
 * First frame of every message between client and store, in both directions. It must change with every incompatible
 * change of the schema below, and of the keys through which launchers and ranks agree, so that two versions detect each
 * other.
 */
export const protocolName = 'ringrun-store/6';

/**
 * Schema of the ZeroMQ multipart messages: `[protocolName, Request]` from a client's DEALER socket to the store's
 * ROUTER socket, `[protocolName, Reply]` back.
 *
 * A client connects without a routing id, so the ROUTER chooses one for each connection, and names itself in its
 * requests. If a connection with the routing id of another replaced that one, libzmq 4.3.5 would keep the descriptor of
 * the replaced connection forever when a message arrives on it.
 */
export const storeProto = `
  syntax = "proto3";
  package ringrun;

  message Request {
    uint32 id = 1;               // chosen by the client, from 1, never used twice on one connection; the reply repeats it
    oneof call {
      Ping ping = 2;
      Set set = 3;
      Get get = 4;
      Add add = 5;
      Wait wait = 6;
      Check check = 7;
      CompareSet compare_set = 8;
      DeleteKey delete_key = 9;
      NumKeys num_keys = 10;
      WaitNumbered wait_numbered = 12;
      DeletePrefix delete_prefix = 13;
      MultiGet multi_get = 15;
      MultiSet multi_set = 16;
      MultiPeek multi_peek = 17;
    }
    uint32 receipt = 11;         // of the last reply that had one
    string client = 14;          // unique name, the same on all connections of a client; empty: this connection is the client
  }

  message Ping {}
  message Set { string key = 1; bytes value = 2; }
  message Get { string key = 1; double timeout_ms = 2; }               // finite
  message Add { string key = 1; sint64 amount = 2; }
  message Wait { repeated string keys = 1; double timeout_ms = 2; }    // finite
  message WaitNumbered { string prefix = 1; double timeout_ms = 2; uint32 count = 3; } // keys prefix + "0", prefix + "1", …
  message Check { repeated string keys = 1; }
  message CompareSet { string key = 1; bytes expected = 2; bytes desired = 3; }
  message DeleteKey { string key = 1; }
  message DeletePrefix { string prefix = 1; }
  message NumKeys {}
  message MultiGet { repeated string keys = 1; double timeout_ms = 2; } // finite
  message MultiSet { repeated string keys = 1; repeated bytes values = 2; }
  message MultiPeek { repeated string keys = 1; }

  message Reply {
    uint32 id = 1;               // 0: not about one request
    oneof result {
      Done done = 2;             // set, wait, multi_set
      Value value = 3;           // get, compare_set
      Count count = 4;           // add, num_keys, delete_prefix
      Flag flag = 5;             // check, delete_key
      Pong pong = 6;             // ping
      Failure failure = 7;       // any
      Values values = 9;         // multi_get, multi_peek
    }
    uint32 receipt = 8;          // not 0: proves, in a later request, that the client has read this reply
  }

  message Done {}
  message Value { bytes bytes = 1; }
  message Count { sint64 number = 1; }
  message Flag { bool yes = 1; }
  message Values {
    repeated bytes values = 1;                    // one for each key, empty for a missing one
    repeated uint32 missing = 2 [packed = false]; // indices of missing keys; multi_peek only
  }

  message Pong {
    string instance = 1;         // differs between two runs of a store: one that was restarted has lost its keys
    repeated Parked parked = 2;  // what this client waits for
  }
  message Parked {
    uint32 id = 1;
    repeated string missing_keys = 2; // the first of them
    uint32 missing = 3;               // number of all
  }

  message Failure {
    enum Reason {
      TIMEOUT = 0;               // missing_keys did not appear in time
      INVALID = 1;               // the request cannot work; message says why
      PROTOCOL = 2;              // the request was not understood
      LIMIT = 3;                 // the request exceeds a limit of the store; message names it
    }
    Reason reason = 1;
    string message = 2;
    repeated string missing_keys = 3;
  }
`;

export type Call =
  | { op: 'ping' }
  | { op: 'set'; key: string; value: Uint8Array }
  | { op: 'get'; key: string; timeoutMs: number }
  | { op: 'add'; key: string; amount: number }
  | { op: 'wait'; keys: readonly string[]; timeoutMs: number }
  | { op: 'waitNumbered'; prefix: string; timeoutMs: number; count: number }
  | { op: 'check'; keys: readonly string[] }
  | { op: 'compareSet'; key: string; expected: Uint8Array; desired: Uint8Array }
  | { op: 'deleteKey'; key: string }
  | { op: 'deletePrefix'; prefix: string }
  | { op: 'numKeys' }
  | { op: 'multiGet'; keys: readonly string[]; timeoutMs: number }
  | { op: 'multiSet'; keys: readonly string[]; values: readonly Uint8Array[] }
  | { op: 'multiPeek'; keys: readonly string[] };

/** Calls that only read. */
export const readingCalls: ReadonlySet<Call['op']> = new Set([
  ...(['get', 'wait', 'waitNumbered', 'check', 'numKeys', 'multiGet', 'multiPeek'] as const),
]);

export interface Request {
  id: number;
  call: Call;
  /** Undefined before the first reply with a receipt. */
  receipt?: number | undefined;
  /** Undefined if the client is the connection. */
  client?: string | undefined;
}

/** A waiting request, the first of its missing keys, and the number of all. */
export interface Parked {
  id: number;
  missingKeys: readonly string[];
  missing: number;
}

export type Result =
  | { kind: 'done' }
  | { kind: 'value'; bytes: Uint8Array }
  | { kind: 'count'; number: number }
  | { kind: 'flag'; yes: boolean }
  | { kind: 'values'; values: readonly Uint8Array[]; missing: readonly number[] }
  | { kind: 'pong'; instance: string; parked: readonly Parked[] }
  | Failure;

export interface Failure {
  kind: 'failure';
  reason: 'TIMEOUT' | 'INVALID' | 'PROTOCOL' | 'LIMIT';
  message: string;
  missingKeys: readonly string[];
}

export interface Reply {
  id: number;
  result: Result;
  /** Undefined for most replies. */
  receipt?: number | undefined;
}

const reasons = ['TIMEOUT', 'INVALID', 'PROTOCOL', 'LIMIT'] as const;

const key = { number: 1, scalar: 'string' } as const;
const timeoutMs = { number: 2, scalar: 'double' } as const;
const keys = { number: 1, scalar: 'string', repeated: true } as const;

/** Tables of `storeProto` for `protobuf.ts`. */
const callFields = {
  ping: { number: 2, fields: {} },
  set: { number: 3, fields: { key, value: { number: 2, scalar: 'bytes' } } },
  get: { number: 4, fields: { key, timeoutMs } },
  add: { number: 5, fields: { key, amount: { number: 2, scalar: 'sint64' } } },
  wait: { number: 6, fields: { keys, timeoutMs } },
  check: { number: 7, fields: { keys } },
  compareSet: {
    number: 8,
    fields: { key, expected: { number: 2, scalar: 'bytes' }, desired: { number: 3, scalar: 'bytes' } },
  },
  deleteKey: { number: 9, fields: { key } },
  numKeys: { number: 10, fields: {} },
  multiGet: { number: 15, fields: { keys, timeoutMs } },
  multiSet: { number: 16, fields: { keys, values: { number: 2, scalar: 'bytes', repeated: true } } },
  multiPeek: { number: 17, fields: { keys } },
  deletePrefix: { number: 13, fields: { prefix: { number: 1, scalar: 'string' } } },
  waitNumbered: {
    number: 12,
    fields: { prefix: { number: 1, scalar: 'string' }, timeoutMs, count: { number: 3, scalar: 'uint32' } },
  },
} as const satisfies Record<Call['op'], Fields[string]>;

const missingKeys = (number: number) => ({ number, scalar: 'string', repeated: true }) as const;
const id = { number: 1, scalar: 'uint32' } as const;

const resultFields = {
  done: { number: 2, fields: {} },
  value: { number: 3, fields: { bytes: { number: 1, scalar: 'bytes' } } },
  count: { number: 4, fields: { number: { number: 1, scalar: 'sint64' } } },
  flag: { number: 5, fields: { yes: { number: 1, scalar: 'bool' } } },
  values: {
    number: 9,
    fields: {
      values: { number: 1, scalar: 'bytes', repeated: true },
      missing: { number: 2, scalar: 'uint32', repeated: true },
    },
  },
  pong: {
    number: 6,
    fields: {
      instance: { number: 1, scalar: 'string' },
      parked: {
        number: 2,
        repeated: true,
        fields: { id, missingKeys: missingKeys(2), missing: { number: 3, scalar: 'uint32' } },
      },
    },
  },
  failure: {
    number: 7,
    fields: {
      reason: { number: 1, values: reasons },
      message: { number: 2, scalar: 'string' },
      missingKeys: missingKeys(3),
    },
  },
} as const satisfies Record<Result['kind'], Fields[string]>;

const receipt = (number: number) => ({ number, scalar: 'uint32' }) as const;

const requestFields: Fields = {
  id,
  ...callFields,
  receipt: receipt(11),
  client: { number: 14, scalar: 'string' },
};
const replyFields: Fields = { id, ...resultFields, receipt: receipt(8) };

export function encodeRequest({ id, call: { op, ...fields }, receipt, client }: Request): Uint8Array {
  return encodeMessage(requestFields, { id, [op]: fields, receipt, client });
}

/** Throws if the bytes are not a request of this schema. */
export function decodeRequest(bytes: Uint8Array): Request {
  const { id, receipt, client, ...message } = decodeMessage(requestFields, bytes);
  const [op, fields] = onlyChoice(message, 'a request without a call');
  return { id: id as number, call: { op, ...fields } as Call, ...receiptIn(receipt), ...clientIn(client) };
}

export function encodeReply({ id, result: { kind, ...fields }, receipt }: Reply): Uint8Array {
  return encodeMessage(replyFields, { id, [kind]: fields, receipt });
}

/** Throws if the bytes are not a reply of this schema. */
export function decodeReply(bytes: Uint8Array): Reply {
  const { id, receipt, ...message } = decodeMessage(replyFields, bytes);
  const [kind, fields] = onlyChoice(message, 'a reply without a result');
  return { id: id as number, result: { kind, ...fields } as Result, ...receiptIn(receipt) };
}

function receiptIn(receipt: unknown): { receipt?: number } {
  return receipt === 0 ? {} : { receipt: receipt as number };
}

function clientIn(client: unknown): { client?: string } {
  return client === '' ? {} : { client: client as string };
}

/** The member of the oneof that is set. */
function onlyChoice(message: Message, problem: string): [name: string, fields: object] {
  const choice = Object.entries(message).at(0);
  if (choice === undefined) throw new Error(problem);
  return choice as [string, object];
}
