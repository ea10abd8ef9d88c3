/** Types of pack.js, for tests. */
export interface Packed {
  name: string;
  tarball: string;
}
export function pack(folder: string, into: string): Packed;
