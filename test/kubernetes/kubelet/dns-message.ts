/** A question of a DNS query (RFC 1035). */
export interface Question {
  id: number;
  /** In lower case, without a dot at its end. */
  name: string;
  type: number;
  /** The bytes of the question, which the answer repeats. */
  bytes: Buffer;
}

export const typeA = 1;
const headerBytes = 12;
const noSuchName = 3;
const ttlSeconds = 5;

export function parseQuestion(message: Buffer): Question {
  const labels: string[] = [];
  let at = headerBytes;
  for (let length = message[at]; length > 0; length = message[at]) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  // Zero byte, type, class.
  const end = at + 5;
  return {
    id: message.readUInt16BE(0),
    name: labels.join('.').toLowerCase(),
    type: message.readUInt16BE(at + 1),
    bytes: message.subarray(headerBytes, end),
  };
}

/** @param addresses IPv4; undefined if the name does not exist. */
export function encodeAnswer({ id, bytes }: Question, addresses: readonly string[] | undefined): Buffer {
  const header = Buffer.alloc(headerBytes);
  header.writeUInt16BE(id, 0);
  // An authoritative response, recursion desired and available.
  header.writeUInt16BE(0x8580 | (addresses === undefined ? noSuchName : 0), 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(addresses?.length ?? 0, 6);
  const records = (addresses ?? []).map((address) => {
    const record = Buffer.alloc(16);
    // A pointer to the name at offset 12.
    record.writeUInt16BE(0xc000 | headerBytes, 0);
    record.writeUInt16BE(typeA, 2);
    record.writeUInt16BE(1, 4);
    record.writeUInt32BE(ttlSeconds, 6);
    record.writeUInt16BE(4, 10);
    for (const [i, part] of address.split('.').entries()) record[12 + i] = Number(part);
    return record;
  });
  return Buffer.concat([header, bytes, ...records]);
}
