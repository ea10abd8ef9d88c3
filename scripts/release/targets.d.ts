/** Types of targets.js, for tests. */
export interface Target {
  name: string;
  packageName: string;
}
export function targetOfThisMachine(): Target | undefined;
