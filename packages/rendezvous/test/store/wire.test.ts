import protobuf from 'protobufjs';
import { describe, expect, test } from 'vitest';
import { recordProto, decodeRecords, encodeRecord } from '../../src/store/file/record.ts';
import type { FileRecord } from '../../src/store/file/record.ts';
import { decodeReply, decodeRequest, encodeReply, encodeRequest, storeProto } from '../../src/store/wire.ts';
import type { Call, Result } from '../../src/store/wire.ts';

const raw = Buffer.from([0, 255, 10, 128]);

const calls: Call[] = [
  { op: 'ping' },
  { op: 'set', key: 'schlüssel', value: raw },
  { op: 'get', key: '', timeoutMs: 1800000 },
  { op: 'get', key: 'k', timeoutMs: Infinity },
  { op: 'add', key: 'n', amount: -Number.MAX_SAFE_INTEGER },
  { op: 'wait', keys: [], timeoutMs: 0.5 },
  { op: 'waitNumbered', prefix: 'member/', timeoutMs: 7, count: 10_240 },
  { op: 'check', keys: ['a', '', 'b'] },
  { op: 'compareSet', key: 'k', expected: Buffer.alloc(0), desired: raw },
  { op: 'deleteKey', key: 'k' },
  { op: 'deletePrefix', prefix: 'init/0/' },
  { op: 'numKeys' },
  { op: 'multiGet', keys: ['a', ''], timeoutMs: 0.5 },
  { op: 'multiSet', keys: ['a', 'b'], values: [raw, Buffer.alloc(0)] },
  { op: 'multiPeek', keys: ['a', 'b'] },
];

const results: Result[] = [
  { kind: 'done' },
  { kind: 'value', bytes: raw },
  { kind: 'value', bytes: Buffer.alloc(0) },
  { kind: 'count', number: Number.MAX_SAFE_INTEGER },
  { kind: 'count', number: 0 },
  { kind: 'flag', yes: false },
  { kind: 'values', values: [raw, Buffer.alloc(0), raw], missing: [1] },
  { kind: 'values', values: [], missing: [] },
  { kind: 'pong', instance: 'i', parked: [{ id: 7, missingKeys: ['a', 'b'], missing: 9 }] },
  { kind: 'failure', reason: 'TIMEOUT', message: '', missingKeys: ['a'] },
  { kind: 'failure', reason: 'PROTOCOL', message: 'no', missingKeys: [] },
  { kind: 'failure', reason: 'LIMIT', message: 'too many', missingKeys: [] },
];

test.each(calls)('request $op', (call) => {
  expect(decodeRequest(encodeRequest({ id: 4_000_000_000, call }))).toEqual({ id: 4_000_000_000, call });
});

test.each(results)('reply $kind', (result) => {
  expect(decodeReply(encodeReply({ id: 1, result }))).toEqual({ id: 1, result });
});

test('requests and replies carry receipts', () => {
  const request = { id: 1, call: { op: 'ping' }, receipt: 4_294_967_295 } as const;
  expect(decodeRequest(encodeRequest(request))).toEqual(request);
  const reply = { id: 1, result: { kind: 'done' }, receipt: 7 } as const;
  expect(decodeReply(encodeReply(reply))).toEqual(reply);
});

/** Compares the tables that protobufjs derives from the schema's text with ours. */
describe('the schema and the tables agree', () => {
  const conversion = { defaults: true, longs: Number, enums: String, oneofs: true };
  const typeIn = (proto: string, name: string) => protobuf.parse(proto).root.lookupType(`ringrun.${name}`);
  const requests = typeIn(storeProto, 'Request');
  const replies = typeIn(storeProto, 'Reply');

  test.each(calls)('request $op', (call) => {
    const { op, ...fields } = call;
    const message = { [op]: fields, receipt: 8, client: 'name' };
    const request = { id: 7, call, receipt: 8, client: 'name' };
    const read = requests.toObject(requests.decode(encodeRequest(request)), conversion);
    expect(read).toEqual({ id: 7, call: op, ...message });
    const written = requests.encode(requests.fromObject({ id: 7, ...message })).finish();
    expect(decodeRequest(written)).toEqual(request);
  });

  test.each(results)('reply $kind', (result) => {
    const { kind, ...fields } = result;
    const read = replies.toObject(replies.decode(encodeReply({ id: 7, result, receipt: 8 })), conversion);
    expect(read).toEqual({ id: 7, result: kind, [kind]: fields, receipt: 8 });
    const written = replies.encode(replies.fromObject({ id: 7, [kind]: fields, receipt: 8 })).finish();
    expect(decodeReply(written)).toEqual({ id: 7, result, receipt: 8 });
  });

  const records: FileRecord[] = [
    { client: 'c', entry: 'joined', joined: { host: 'a', pid: 4711, worldSize: 0 } },
    { client: 'c', entry: 'left' },
    { client: 'c', entry: 'withdrawn' },
    { client: 'c', entry: 'request', request: raw },
  ];
  test.each(records)('record $entry', (record) => {
    const type = typeIn(recordProto, 'Record');
    const bytes = encodeRecord(record);
    const { entry, ...fields } = record;
    expect(type.toObject(type.decode(bytes.subarray(8)), conversion)).toEqual({
      [entry]: {},
      ...fields,
      entry,
    });
    expect(decodeRecords(bytes)).toMatchObject({ records: [record], consumed: bytes.length });
    expect(decodeRecords(bytes.subarray(0, -1))).toEqual({ records: [], consumed: 0 });
  });
});

describe('malformed messages are refused', () => {
  test.each([Uint8Array.of(), Uint8Array.of(255, 255, 255), Buffer.from('GET / HTTP/1.1')])('%o', (bytes) => {
    expect(() => decodeRequest(bytes)).toThrow();
    expect(() => decodeReply(bytes)).toThrow();
  });
});

test('encodes a request to the bytes of the schema', () => {
  const request = encodeRequest({ id: 1, call: { op: 'set', key: 'k', value: Buffer.from('v') } });
  // id = 1; set (field 3) of 6 bytes: key (field 1) "k", value (field 2) "v".
  expect([...request]).toEqual([0x08, 1, 0x1a, 6, 0x0a, 1, 0x6b, 0x12, 1, 0x76]);
});
