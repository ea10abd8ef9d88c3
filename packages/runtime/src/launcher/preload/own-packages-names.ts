/** Packages of ringrun that scripts import. */
export const ownPackages = ['ringrun', '@ringrun/nn'];

/** Whether an import asks for a package of ringrun, or for a part of one. */
export function isOwnPackage(specifier: string): boolean {
  return /^(?:ringrun|@ringrun\/[^/]+)(?:\/|$)/.test(specifier);
}
