import { openStorage } from '../../../storage/index.ts';
import { isArchive } from '../is-archive.ts';
import { baseName, batchNames } from './files.ts';

/** The parts of CIFAR-10 in a location. */
export interface FoundCifar10 {
  /** Name of the archive; undefined if the location has batch files, or nothing. */
  archive: string | undefined;
  /** Names of the batch files. */
  train: string[];
  test: string[];
}

/** The folder in the official archive, or none. */
const folders = ['', 'cifar-10-batches-bin/'];

/** The folder of a location, and the name of the archive if the location is one. */
export function splitLocation(location: string): { folder: string; archive?: string } {
  if (!isArchive(location)) return { folder: location };
  const archive = baseName(location);
  return { folder: location.slice(0, -archive.length) || '.', archive };
}

/** Finds CIFAR-10 in a location. Batch files take precedence over an archive. */
export async function findCifar10(location: string): Promise<FoundCifar10> {
  const { folder, archive } = splitLocation(location);
  const storage = openStorage(folder);
  const named = async (prefix: string) => (await storage.list(prefix)).map(({ name }) => name);
  if (archive !== undefined) {
    const isThere = (await named(archive)).includes(archive);
    return { archive: isThere ? archive : undefined, train: [], test: [] };
  }
  const inFolder = (name: string, prefix: string) => name === prefix + baseName(name);
  for (const prefix of folders) {
    const train = (await named(`${prefix}data_batch_`)).filter(
      (name) => inFolder(name, prefix) && batchNames.train.test(baseName(name)),
    );
    const test = (await named(`${prefix}test_batch.bin`)).filter(
      (name) => inFolder(name, prefix) && batchNames.test.test(baseName(name)),
    );
    if (train.length + test.length > 0) return { archive: undefined, train, test };
  }
  const archives = (await named('cifar-10-binary')).filter((name) => inFolder(name, '') && isArchive(name));
  return { archive: archives[0], train: [], test: [] };
}
