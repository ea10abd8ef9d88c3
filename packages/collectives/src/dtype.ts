/** Element types that collectives move and reduce, by their names in numpy and torch. */
export type DType = 'float32';

/** The typed array that holds elements of a dtype. */
export interface TypedArrayOf {
  float32: Float32Array;
}

export type TypedArray = TypedArrayOf[DType];

/** Bytes of one element. */
export const bytesPerElement: Readonly<Record<DType, number>> = { float32: 4 };
