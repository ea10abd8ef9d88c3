/** Whether a file with this name is a tar archive, possibly compressed with gzip. */
export function isArchive(name: string): boolean {
  return /\.(tar\.gz|tgz|tar)$/.test(name);
}
