/** Types of stage.js, for tests. */
import type { Target } from './targets.js';
export interface PublicPackage {
  folder: string;
  manifest: { name: string; version: string };
}
export function publicPackages(): PublicPackage[];
export function stagePackage(one: PublicPackage, into: string): string;
export function stagePlatform(target: Target, binary: string, into: string): string;
