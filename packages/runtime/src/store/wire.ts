import protobuf from 'protobufjs';

/**
 * First frame of every message between client and store, in both directions. It changes when the schema below does in a way that
 * an older program would misread, so that two versions tell each other instead of guessing.
 */
export const protocolName = 'ringrun-store/1';

/**
 * What travels, as ZeroMQ multipart messages: `[protocolName, Request]` from a client's DEALER socket to the store's ROUTER, and
 * `[protocolName, Reply]` back.
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
    }
  }

  message Ping {}
  message Set { string key = 1; bytes value = 2; }
  message Get { string key = 1; double timeout_ms = 2; }               // may be infinite
  message Add { string key = 1; sint64 amount = 2; }
  message Wait { repeated string keys = 1; double timeout_ms = 2; }    // may be infinite
  message Check { repeated string keys = 1; }
  message CompareSet { string key = 1; bytes expected = 2; bytes desired = 3; }
  message DeleteKey { string key = 1; }
  message NumKeys {}

  message Reply {
    uint32 id = 1;               // 0: not about one request
    oneof result {
      Done done = 2;             // set, wait
      Value value = 3;           // get, compare_set
      Count count = 4;           // add, num_keys
      Flag flag = 5;             // check, delete_key
      Pong pong = 6;             // ping
      Failure failure = 7;       // any
    }
  }

  message Done {}
  message Value { bytes bytes = 1; }
  message Count { sint64 number = 1; }
  message Flag { bool yes = 1; }

  message Pong {
    string instance = 1;         // differs between two runs of a store: one that was restarted has lost its keys
    repeated Parked parked = 2;  // what this client waits for
  }
  message Parked { uint32 id = 1; repeated string missing_keys = 2; }

  message Failure {
    enum Reason {
      TIMEOUT = 0;               // missing_keys did not appear in time
      INVALID = 1;               // the request cannot work; message says why
      PROTOCOL = 2;              // the request was not understood
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
  | { op: 'check'; keys: readonly string[] }
  | { op: 'compareSet'; key: string; expected: Uint8Array; desired: Uint8Array }
  | { op: 'deleteKey'; key: string }
  | { op: 'numKeys' };

export interface Request {
  id: number;
  call: Call;
}

/** A request that waits, and the keys that it waits for. */
export interface Parked {
  id: number;
  missingKeys: readonly string[];
}

export type Result =
  | { kind: 'done' }
  | { kind: 'value'; bytes: Uint8Array }
  | { kind: 'count'; number: number }
  | { kind: 'flag'; yes: boolean }
  | { kind: 'pong'; instance: string; parked: readonly Parked[] }
  | Failure;

export interface Failure {
  kind: 'failure';
  reason: 'TIMEOUT' | 'INVALID' | 'PROTOCOL';
  message: string;
  missingKeys: readonly string[];
}

export interface Reply {
  id: number;
  result: Result;
}

const schema = protobuf.parse(storeProto).root;
const requestType = schema.lookupType('ringrun.Request');
const replyType = schema.lookupType('ringrun.Reply');

/** Fields that are absent on the wire come back as proto3's defaults, 64-bit integers as numbers, the oneof's choice by its name. */
const conversion: protobuf.IConversionOptions = {
  defaults: true,
  longs: Number,
  enums: String,
  oneofs: true,
};

export function encodeRequest({ id, call: { op, ...fields } }: Request): Uint8Array {
  return requestType.encode(requestType.fromObject({ id, [op]: fields })).finish();
}

/** Throws when the bytes are no request of this schema. */
export function decodeRequest(bytes: Uint8Array): Request {
  const message = requestType.toObject(requestType.decode(bytes), conversion);
  const op = message['call'] as Call['op'] | undefined;
  if (op === undefined) throw new Error('a request without a call');
  return { id: message['id'] as number, call: { op, ...(message[op] as object) } as Call };
}

export function encodeReply({ id, result: { kind, ...fields } }: Reply): Uint8Array {
  return replyType.encode(replyType.fromObject({ id, [kind]: fields })).finish();
}

/** Throws when the bytes are no reply of this schema. */
export function decodeReply(bytes: Uint8Array): Reply {
  const message = replyType.toObject(replyType.decode(bytes), conversion);
  const kind = message['result'] as Result['kind'] | undefined;
  if (kind === undefined) throw new Error('a reply without a result');
  return { id: message['id'] as number, result: { kind, ...(message[kind] as object) } as Result };
}
