/** Bytes of a block: headers take one, and contents are padded to a multiple. */
const blockBytes = 512;

const zeros = Buffer.alloc(blockBytes);

/** One block of zeros, or blocks before and after one. */
export interface TarBlocks {
  bytes: Buffer;
  isZero: boolean;
}

/** The blocks of tar archives, with blocks of zeros kept separate: two of them end an archive. */
export async function* tarBlocks(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<TarBlocks, void> {
  let rest = Buffer.alloc(0);
  for await (const chunk of chunks) {
    const view = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const bytes = rest.length === 0 ? view : Buffer.concat([rest, view]);
    const end = bytes.length - (bytes.length % blockBytes);
    let start = 0;
    for (let at = 0; at < end; at += blockBytes) {
      if (bytes[at] !== 0 || zeros.compare(bytes, at, at + blockBytes) !== 0) continue;
      if (at > start) yield { bytes: bytes.subarray(start, at), isZero: false };
      yield { bytes: bytes.subarray(at, at + blockBytes), isZero: true };
      start = at + blockBytes;
    }
    if (end > start) yield { bytes: bytes.subarray(start, end), isZero: false };
    rest = Buffer.from(bytes.subarray(end));
  }
  // An archive that ends within a block.
  if (rest.length > 0) yield { bytes: rest, isZero: false };
}
