import protobuf from 'protobufjs/minimal.js';

/**
 * Encodes and decodes proto3 messages by tables of their fields. Parsing the schema at run time with protobufjs would
 * add 40 ms to the start of every process; a test compares the tables with the schema (`storeProto` in wire.ts).
 */
export type FieldType =
  | { scalar: Scalar }
  /** Enum values by number. */
  | { values: readonly string[] }
  | { fields: Fields };

export type Field = FieldType & { number: number; repeated?: true };

/** A message's fields by their JavaScript names. */
export type Fields = Readonly<Record<string, Field>>;

export type Message = Record<string, unknown>;

type Scalar = 'string' | 'bytes' | 'uint32' | 'sint64' | 'double' | 'bool';

const defaults = { string: '', bytes: Buffer.alloc(0), uint32: 0, sint64: 0, double: 0, bool: false };

const lengthDelimited = 2;

/** Omits absent fields and fields with their type's default value, as proto3 requires. */
export function encodeMessage(fields: Fields, message: Message): Uint8Array {
  return write(protobuf.Writer.create(), fields, message).finish();
}

/**
 * Absent repeated fields and scalars have their default value; absent messages stay absent. Throws for malformed bytes.
 */
export function decodeMessage(fields: Fields, bytes: Uint8Array): Message {
  const reader = protobuf.Reader.create(bytes);
  return read(reader, fields, reader.len);
}

function write(writer: protobuf.Writer, fields: Fields, message: Message): protobuf.Writer {
  for (const [name, field] of Object.entries(fields)) {
    const value = message[name];
    if (value === undefined) continue;
    for (const one of field.repeated ? (value as readonly unknown[]) : [value])
      writeField(writer, field, one);
  }
  return writer;
}

function writeField(writer: protobuf.Writer, field: Field, value: unknown): void {
  if ('fields' in field) {
    write(writer.uint32(tag(field.number, lengthDelimited)).fork(), field.fields, value as Message).ldelim();
  } else if ('values' in field) {
    const number = field.values.indexOf(value as string);
    if (number > 0) writer.uint32(tag(field.number, 0)).int32(number);
  } else if (field.repeated || !isDefault(value)) {
    writeScalar(writer.uint32(tag(field.number, wireTypes[field.scalar])), field.scalar, value);
  }
}

const wireTypes: Record<Scalar, number> = { string: 2, bytes: 2, uint32: 0, sint64: 0, double: 1, bool: 0 };

function writeScalar(writer: protobuf.Writer, scalar: Scalar, value: unknown): void {
  switch (scalar) {
    case 'string':
      return void writer.string(value as string);
    case 'bytes':
      return void writer.bytes(value as Uint8Array);
    case 'bool':
      return void writer.bool(value as boolean);
    case 'uint32':
    case 'sint64':
    case 'double':
      return void writer[scalar](value as number);
  }
}

function isDefault(value: unknown): boolean {
  return value instanceof Uint8Array ? value.length === 0 : value === '' || value === 0 || value === false;
}

function read(reader: protobuf.Reader, fields: Fields, end: number): Message {
  const message: Message = {};
  for (const [name, field] of Object.entries(fields)) {
    if (field.repeated) message[name] = [];
    else if ('scalar' in field) message[name] = defaults[field.scalar];
    else if ('values' in field) message[name] = field.values[0];
  }
  while (reader.pos < end) readField(reader, fields, message);
  if (reader.pos > end) throw new RangeError('a field that is longer than its message');
  return message;
}

function readField(reader: protobuf.Reader, fields: Fields, message: Message): void {
  const found = reader.uint32();
  const known = Object.entries(fields).find(([, { number }]) => number === found >>> 3);
  if (known === undefined) {
    reader.skipType(found & 7);
    return;
  }
  const [name, field] = known;
  if ((found & 7) !== wireTypeOf(field)) throw new RangeError(`field ${name} has wire type ${found & 7}`);
  const value = readValue(reader, field);
  if (field.repeated) (message[name] as unknown[]).push(value);
  else message[name] = value;
}

function readValue(reader: protobuf.Reader, field: Field): unknown {
  if ('fields' in field) {
    const length = reader.uint32();
    return read(reader, field.fields, reader.pos + length);
  }
  if ('values' in field) return field.values[reader.int32()] ?? field.values[0];
  if (field.scalar === 'sint64') return numberOf(reader.sint64());
  return reader[field.scalar]();
}

/** protobufjs returns objects for 64-bit integers. Every integer sent is a safe integer. */
function numberOf(value: unknown): number {
  return typeof value === 'number' ? value : (value as { toNumber(): number }).toNumber();
}

function wireTypeOf(field: Field): number {
  if ('fields' in field) return lengthDelimited;
  return 'values' in field ? 0 : wireTypes[field.scalar];
}

function tag(number: number, wireType: number): number {
  return ((number << 3) | wireType) >>> 0;
}
