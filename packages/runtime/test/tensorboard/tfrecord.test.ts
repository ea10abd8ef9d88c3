import { describe, expect, test } from 'vitest';
import crc32c from 'crc-32/crc32c.js';
import { maskedCrc32c, encodeTfRecord } from '../../src/tensorboard/tfrecord.ts';

/** RFC 3720, B.4; checksums there are written as bytes, least significant first. */
const published: [string, Uint8Array, number][] = [
  ['32 zeros', new Uint8Array(32), 0x8a9136aa],
  ['32 ones', new Uint8Array(32).fill(0xff), 0x62a8ab43],
  ['0 to 31', Uint8Array.from({ length: 32 }, (_, i) => i), 0x46dd794e],
  ['31 to 0', Uint8Array.from({ length: 32 }, (_, i) => 31 - i), 0x113fdb5c],
  [
    'an iSCSI read command',
    Buffer.from(
      '01c00000000000000000000000000000140000000000040000000014000000182800000000000000' + '0200000000000000',
      'hex',
    ),
    0xd9963a56,
  ],
];

describe('the checksum', () => {
  test.each(published)('of %s equals that of RFC 3720', (_, bytes, expected) => {
    expect(crc32c.buf(bytes) >>> 0).toBe(expected);
  });

  test.each(published)('of %s can be unmasked', (_, bytes, expected) => {
    // The inverse, from TensorFlow's crc32c.h: subtract the constant and rotate by 17 bits.
    const rest = (maskedCrc32c(bytes) - 0xa282ead8) >>> 0;
    expect(((rest >>> 17) | (rest << 15)) >>> 0).toBe(expected);
  });
});

test('encodes a record byte for byte as TensorBoard 2.21 does', () => {
  expect(encodeTfRecord(Buffer.from('ringrun')).toString('hex')).toBe(
    '0700000000000000bbd79f1172696e6772756ef8267664',
  );
  expect(encodeTfRecord(new Uint8Array(0)).toString('hex')).toBe('000000000000000029039807d8ea82a2');
});
