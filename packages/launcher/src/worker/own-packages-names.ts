/** Packages of ringrun that a script can import. */
export const ownPackages = ['ringrun', '@ringrun/nn'];

/** Whether `specifier` is a package of ringrun, or a subpath of one. */
export function isOwnPackage(specifier: string): boolean {
  return /^(?:ringrun|@ringrun\/[^/]+)(?:\/|$)/.test(specifier);
}
