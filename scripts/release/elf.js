// Shared libraries of Linux, read as ELF files (elf.h): a machine's `strip` may not know those of other processors.
import { Buffer } from 'node:buffer';

const sectionBytes = 64;
const symbolTable = 2;
const dynamicSection = 6;
const isLoaded = 0x2;

/** DT_FLAGS_1, and its DF_1_NODELETE. */
const flagsTag = 0x6ffffffbn;
const noDelete = 0x8n;

/**
 * The library without its symbol table and the names in it, which debuggers read. The bytes that a process loads are unchanged,
 * and so are the numbers of the sections.
 *
 * @param library A 64-bit file with little-endian numbers.
 * @throws Error if sections that a process loads are after the symbol table.
 */
export function withoutSymbols(library) {
  const sections = sectionsOf(library);
  const removed = sections.flatMap((one) => (one.type === symbolTable ? [one, sections[one.link]] : []));
  if (removed.length === 0) return library;
  const start = Math.min(...removed.map(({ offset }) => offset));
  if (sections.some(({ offset, flags }) => flags & isLoaded && offset >= start))
    throw new Error('removing symbols: expected loaded sections before the symbol table, got one after it.');
  const parts = [library.subarray(0, start)];
  let length = start;
  const append = (bytes) => {
    const gap = -length & 7;
    parts.push(Buffer.alloc(gap), bytes);
    length += gap + bytes.length;
    return length - bytes.length;
  };
  const headers = sections.map((section) => {
    if (removed.includes(section)) return Buffer.alloc(sectionBytes);
    const header = Buffer.from(section.header);
    if (section.offset >= start) {
      const bytes = library.subarray(section.offset, section.offset + section.size);
      header.writeBigUInt64LE(BigInt(append(bytes)), 24);
    }
    return header;
  });
  const headersAt = append(Buffer.concat(headers));
  const stripped = Buffer.concat(parts);
  stripped.writeBigUInt64LE(BigInt(headersAt), 40);
  return stripped;
}

/** Whether a process keeps the library when it is closed. */
export function staysOpen(library) {
  const dynamic = sectionsOf(library).find(({ type }) => type === dynamicSection);
  if (dynamic === undefined) return false;
  return Array.from({ length: dynamic.size / 16 }, (_, i) => dynamic.offset + i * 16).some(
    (at) => library.readBigUInt64LE(at) === flagsTag && library.readBigUInt64LE(at + 8) & noDelete,
  );
}

/** The section headers, with the fields that matter here. */
function sectionsOf(library) {
  const at = Number(library.readBigUInt64LE(40));
  return Array.from({ length: library.readUInt16LE(60) }, (_, i) => {
    const header = library.subarray(at + i * sectionBytes, at + (i + 1) * sectionBytes);
    return {
      header,
      type: header.readUInt32LE(4),
      flags: Number(header.readBigUInt64LE(8)),
      offset: Number(header.readBigUInt64LE(24)),
      size: Number(header.readBigUInt64LE(32)),
      link: header.readUInt32LE(40),
    };
  });
}
