import crc32c from 'crc-32/crc32c.js';

const headerBytes = 12;
const footerBytes = 4;

/**
 * Encodes bytes as one record of a TFRecord file, the format of event files:
 *
 *     uint64 length, uint32 masked CRC32C of those 8 bytes, length bytes, uint32 masked CRC32C of the bytes      (little-endian)
 *
 * Format: https://www.tensorflow.org/tutorials/load_data/tfrecord#tfrecords_format_details
 */
export function encodeTfRecord(bytes: Uint8Array): Buffer {
  const record = Buffer.alloc(headerBytes + bytes.length + footerBytes);
  record.writeBigUInt64LE(BigInt(bytes.length), 0);
  record.writeUInt32LE(maskedCrc32c(record.subarray(0, 8)), 8);
  record.set(bytes, headerBytes);
  record.writeUInt32LE(maskedCrc32c(bytes), headerBytes + bytes.length);
  return record;
}

/**
 * CRC32C, rotated right by 15 bits, plus a constant. Masking avoids weak checksums of data that itself
 * contains checksums.
 */
export function maskedCrc32c(bytes: Uint8Array): number {
  const crc = crc32c.buf(bytes) >>> 0;
  const turned = ((crc >>> 15) | (crc << 17)) >>> 0;
  return (turned + 0xa282ead8) >>> 0;
}
