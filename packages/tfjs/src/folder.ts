import { createHash, randomUUID } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { givenPath } from '@ringrun/core';

/** tf.io.ModelArtifacts */
export interface ModelArtifacts {
  /** Layers and their configuration, as JSON. */
  modelTopology?: object;
  /** Names, shapes and dtypes of the weights, in the order of their data. */
  weightSpecs?: WeightSpec[];
  /** The weights' elements, one weight after the other; possibly in several parts. */
  weightData?: ArrayBuffer | ArrayBuffer[];
}

/** tf.io.WeightsManifestEntry */
export interface WeightSpec {
  /** Name of the weight, such as `dense/kernel`. */
  name: string;
  /** Length of each dimension. */
  shape: number[];
  /** Element type. */
  dtype: 'float32' | 'int32' | 'bool' | 'string' | 'complex64';
}

/** tf.io.ModelArtifacts of a saved model. */
export interface LoadedArtifacts extends ModelArtifacts {
  /** The weights' elements, one weight after the other. */
  weightData: ArrayBuffer;
}

/** tf.io.SaveResult */
export interface SaveResult {
  /** Description and time of the saved model. */
  modelArtifactsInfo: ModelArtifactsInfo;
}

/** tf.io.ModelArtifactsInfo */
export interface ModelArtifactsInfo {
  /** Time of saving. */
  dateSaved: Date;
  /** Format of the topology. */
  modelTopologyType: 'JSON';
}

/** A file of a {@link ModelStorage}. */
export interface ModelFile {
  /** Its name in the storage. */
  name: string;
}

/** Where a model is saved: named files. ringrun's `openStorage('s3://bucket/prefix')` returns one. */
export interface ModelStorage {
  /** Files whose names begin with `prefix`. */
  list(prefix: string): Promise<ModelFile[]>;
  /** All bytes of a file. */
  read(name: string): Promise<Uint8Array>;
  /** Writes or replaces a file, atomically. */
  write(name: string, bytes: Uint8Array): Promise<void>;
  /** Removes a file. */
  delete(name: string): Promise<void>;
}

/** tf.io.IOHandler */
export interface ModelFolder {
  /** Replaces the folder's model, atomically. */
  save(artifacts: ModelArtifacts): Promise<SaveResult>;
  /** Reads the folder's model. */
  load(): Promise<LoadedArtifacts>;
}

/** tf.io.ModelJSON */
interface ModelJson {
  weightsManifest: { paths: string[]; weights: WeightSpec[] }[];
}

const modelFile = 'model.json';
const isWeightsFile = /^weights-[0-9a-f]{16}\.bin$/;

/**
 * An IOHandler that saves models to a folder and loads them, which plain @tensorflow/tfjs lacks in Node:
 * `model.save(folder('runs/1'))`, `tf.loadLayersModel(folder('runs/1'))`. Uses TensorFlow.js's format, `model.json` and a
 * weights file; tfjs-node reads it as `file://runs/1/model.json`.
 *
 * Saving is atomic: the weights are written to a new file, `model.json` is replaced, and then the previous weights are
 * deleted. Throws the errors of the file system, or of the storage.
 *
 * @param location path or `file:` URL of a folder, or a storage: `folder(openStorage('s3://bucket/runs/1'))`
 */
export function folder(location: string | URL | ModelStorage): ModelFolder {
  const storage =
    typeof location === 'object' && 'write' in location ? location : directory(givenPath(location, 'folder'));
  return {
    async save({ weightData = new ArrayBuffer(0), weightSpecs = [], ...rest }) {
      const weights = together(weightData);
      const weightsFile = `weights-${createHash('sha256').update(weights).digest('hex').slice(0, 16)}.bin`;
      await storage.write(weightsFile, weights);
      const json = { ...rest, weightsManifest: [{ paths: [weightsFile], weights: weightSpecs }] };
      await storage.write(modelFile, Buffer.from(JSON.stringify(json)));
      const names = (await storage.list('weights-')).map(({ name }) => name);
      const old = names.filter((name) => isWeightsFile.test(name) && name !== weightsFile);
      for (const name of old) await storage.delete(name);
      return { modelArtifactsInfo: { dateSaved: new Date(), modelTopologyType: 'JSON' } };
    },

    async load() {
      const json = Buffer.from(await storage.read(modelFile)).toString('utf8');
      const { weightsManifest, ...rest } = JSON.parse(json) as ModelJson;
      const files = weightsManifest.flatMap(({ paths }) => paths);
      const weights = Buffer.concat(await Promise.all(files.map((name) => storage.read(name))));
      const weightSpecs = weightsManifest.flatMap((group) => group.weights);
      return { ...rest, weightSpecs, weightData: Uint8Array.from(weights).buffer };
    },
  };
}

function directory(path: string): ModelStorage {
  return {
    list: async (prefix) =>
      (await readdir(path)).filter((name) => name.startsWith(prefix)).map((name) => ({ name })),
    read: (name) => readFile(join(path, name)),
    async write(name, bytes) {
      await makeFolder(path);
      await writeWhole(path, name, bytes);
    },
    delete: (name) => rm(join(path, name)),
  };
}

function together(data: ArrayBuffer | ArrayBuffer[]): Uint8Array {
  return Array.isArray(data) ? Buffer.concat(data.map((part) => new Uint8Array(part))) : new Uint8Array(data);
}

/** Creates a folder and its parents. Node's recursive mkdir never returns if the parent exists but mkdir fails with ENOENT (`/proc/x`). */
async function makeFolder(path: string): Promise<void> {
  if (await isFolder(path)) return;
  const above = dirname(resolve(path));
  // If a parent is a file, mkdir itself reports ENOTDIR.
  if (above !== path && !(await exists(above))) await makeFolder(above);
  await mkdir(path).catch(async (error: unknown) => {
    // Another process may have created it concurrently.
    if (!(await isFolder(path))) throw error;
  });
}

async function isFolder(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found?.isDirectory() ?? false;
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined;
}

async function writeWhole(path: string, name: string, bytes: Uint8Array): Promise<void> {
  const temporary = join(path, `.${name}.${randomUUID()}`);
  try {
    const file = await open(temporary, 'wx');
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, join(path, name));
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
