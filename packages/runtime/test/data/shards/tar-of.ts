import { writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { Header } from 'tar';

const block = 512;

/** A tar archive of these members: path and contents. */
export function tarOf(members: readonly (readonly [path: string, bytes: Uint8Array | string])[]): Buffer {
  const parts: Buffer[] = [];
  for (const [path, contents] of members) {
    const bytes = Buffer.from(contents);
    const header = new Header({ path, type: 'File', size: bytes.length, mode: 0o644, mtime: new Date(0) });
    const head = Buffer.alloc(block);
    header.encode(head);
    parts.push(head, bytes, Buffer.alloc((block - (bytes.length % block)) % block));
  }
  return Buffer.concat([...parts, Buffer.alloc(2 * block)]);
}

/** Writes samples `first` to `first + count - 1` to a shard: member `.txt` has the number, `.cls` its last digit. */
export function writeShard(path: string, first: number, count: number): void {
  const members = Array.from({ length: count }, (_, i) => first + i).flatMap((number) => {
    const key = `samples/${String(number).padStart(6, '0')}`;
    return [[`${key}.txt`, `number ${number}`] as const, [`${key}.cls`, String(number % 10)] as const];
  });
  const archive = tarOf(members);
  writeFileSync(path, path.endsWith('.gz') ? gzipSync(archive) : archive);
}
