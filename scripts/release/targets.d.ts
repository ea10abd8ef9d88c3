/** Types of targets.js, for tests. */
export interface Target {
  name: string;
  packageName: string;
  os: string;
  cpu: string;
  /** Of Linux. */
  libc?: string;
}
export const targets: readonly Target[];
export function targetOfThisMachine(): Target | undefined;
