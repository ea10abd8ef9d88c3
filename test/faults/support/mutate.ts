/** Inputs of one mutation of a message: a seeded source of numbers, and messages to splice with. */
export interface Mutations {
  random: () => number;
  /** Parts of other valid messages. */
  others: readonly Buffer[];
}

const edges = [0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff];

/** The parts of a stream of messages with 1 to 4 changes. */
export function mutate(parts: readonly Buffer[], { random, others }: Mutations): Buffer[] {
  const below = (count: number) => Math.floor(random() * count);
  const changed = parts.map((part): Buffer => Buffer.from(part));
  const changes = 1 + below(4);
  for (let i = 0; i < changes && changed.length > 0; i += 1) {
    const at = below(changed.length);
    const other = others[below(others.length)];
    if (random() < 0.7) changed[at] = mutatePart(changed[at], other, random);
    else {
      const to = below(changed.length);
      const rearrangements: (() => void)[] = [
        () => void changed.splice(at, 1),
        () => void changed.splice(to, 0, changed[at]),
        () => ([changed[at], changed[to]] = [changed[to], changed[at]]),
        () => void changed.splice(to, 0, Buffer.from(other)),
      ];
      rearrangements[below(rearrangements.length)]();
    }
  }
  return changed;
}

function mutatePart(part: Buffer, other: Buffer, random: () => number): Buffer {
  const below = (count: number) => Math.floor(random() * count);
  const noise = (most: number) => Buffer.from(Array.from({ length: below(most + 1) }, () => below(256)));
  const at = below(part.length);
  const ways: (() => Buffer)[] = [
    () => {
      for (let i = 0; i <= below(8) && part.length > 0; i += 1) part[below(part.length)] ^= 1 << below(8);
      return part;
    },
    () => part.subarray(0, at),
    () => part.subarray(at),
    () => Buffer.concat([part, part.subarray(at)]),
    () => Buffer.concat([part, noise(64)]),
    // A length or number becomes an edge case.
    () => {
      const bytes = [1, 2, 4, 8].filter((size) => size <= part.length);
      if (bytes.length === 0) return part;
      const size = bytes[below(bytes.length)];
      const number = Buffer.alloc(8);
      number.writeBigUInt64LE(BigInt(edges[below(edges.length)]) * (size === 8 && below(2) ? 2n ** 32n : 1n));
      const field = number.subarray(0, size);
      (below(2) === 0 ? field : Buffer.from(field).reverse()).copy(part, below(part.length - size + 1));
      return part;
    },
    // Two fields of 4 bytes change places.
    () => {
      const words = Math.floor(part.length / 4);
      if (words < 2) return part;
      const [a, b] = [4 * below(words), 4 * below(words)];
      const kept = part.readUInt32LE(a);
      part.writeUInt32LE(part.readUInt32LE(b), a);
      part.writeUInt32LE(kept, b);
      return part;
    },
    () => Buffer.concat([part.subarray(0, at), other.subarray(below(other.length + 1))]),
    () => noise(2 * part.length + 16),
  ];
  return ways[below(ways.length)]();
}
