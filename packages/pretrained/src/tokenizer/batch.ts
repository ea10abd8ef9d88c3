/** int64 elements and their shape, which `tensor` accepts. */
export interface IntArray {
  /** Row-major. */
  readonly data: BigInt64Array;
  /** [N, S] */
  readonly shape: readonly [texts: number, tokens: number];
}

/** Texts as numbers, padded to one length (transformers.BatchEncoding). */
export interface Encoding {
  /** Numbers of the tokens. */
  readonly inputIds: IntArray;
  /** 1 for tokens, 0 for padding. */
  readonly attentionMask: IntArray;
  /** 0 for the first text of a pair, 1 for the second, 0 for padding. */
  readonly tokenTypeIds: IntArray;
}

/** The numbers of one text. */
export interface Row {
  readonly ids: readonly number[];
  readonly types: readonly number[];
}

/** How rows get one length. */
export interface Padding {
  /** Length of each row, at least that of the longest. */
  readonly length: number;
  /** Number of the token of padding. */
  readonly token: number;
  /** Where padding is added. */
  readonly side: 'left' | 'right';
}

/** Rows with padding. */
export function batchOf(rows: readonly Row[], { length, token, side }: Padding): Encoding {
  const shape = [rows.length, length] as const;
  const filled = (padding: number, valuesOf: (row: Row) => readonly number[]): IntArray => {
    const data = new BigInt64Array(rows.length * length).fill(BigInt(padding));
    for (const [index, row] of rows.entries()) {
      const start = index * length + (side === 'left' ? length - row.ids.length : 0);
      data.set(valuesOf(row).map(BigInt), start);
    }
    return { data, shape };
  };
  return {
    inputIds: filled(token, ({ ids }) => ids),
    attentionMask: filled(0, ({ ids }) => ids.map(() => 1)),
    tokenTypeIds: filled(0, ({ types }) => types),
  };
}
