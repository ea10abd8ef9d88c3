import { loadSafetensors, type ArrayWithShape } from 'ringrun';
import type { ModelFiles } from '../hub/model-files.ts';
import { PretrainedError } from '../hub/pretrained-error.ts';
import { readJson } from '../hub/read-json.ts';

/** Weights by name. */
export type Weights = ReadonlyMap<string, ArrayWithShape>;

const single = 'model.safetensors';
const index = `${single}.index.json`;
const pickled = ['pytorch_model.bin', 'pytorch_model.bin.index.json'];

/**
 * The weights of a model: `model.safetensors`, or the files that `model.safetensors.index.json` lists.
 *
 * @throws PretrainedError if the model has neither; CheckpointError if a file is damaged
 */
export async function readWeights(who: string, files: ModelFiles): Promise<Weights> {
  const path = (await files.find(single)) ?? (await indexWithFiles(files));
  if (path !== undefined) return await loadSafetensors(path);
  const found = (await Promise.all(pickled.map((name) => files.findLocal(name)))).some(Boolean);
  const got = found ? 'only pytorch_model.bin, which is a program that Python runs' : 'none';
  throw new PretrainedError(
    `${who}: expected ${single} or ${index} in ${files.title}, got ${got}. ` +
      `If it has pytorch_model.bin, convert it in Python: AutoModel.from_pretrained("${files.title}").save_pretrained("folder").`,
  );
}

/** Path of the index, after all of its files are there. */
async function indexWithFiles(files: ModelFiles): Promise<string | undefined> {
  const path = await files.find(index);
  if (path === undefined) return undefined;
  const { weight_map = {} } = await readJson<{ weight_map?: Record<string, string> }>(path);
  for (const name of new Set(Object.values(weight_map))) await files.get(name);
  return path;
}
