/**
 * The files of a model and the tensors that each has, in the order of the index that Hugging Face's libraries write
 * next to them: `{ "weight_map": { "layer.weight": "model-00001-of-00002.safetensors", … } }`.
 *
 * @param failed creates the error for an invalid index, or for one that names a file in another folder
 */
export function filesOfIndex(text: string, failed: (problem: string) => Error): Map<string, string[]> {
  const map = weightMapOf(text);
  if (map === undefined) throw failed('it is JSON without a weight_map of tensors and their files');
  const files = new Map<string, string[]>();
  for (const [tensor, file] of Object.entries(map)) {
    if (typeof file !== 'string' || file === '' || /[/\\\0]|^\.\.?$/.test(file))
      throw failed(
        `its weight_map has ${JSON.stringify(file)} for ${tensor}, not the name of a file beside it`,
      );
    const tensors = files.get(file) ?? [];
    tensors.push(tensor);
    files.set(file, tensors);
  }
  return files;
}

function weightMapOf(text: string): object | undefined {
  try {
    const { weight_map } = Object(JSON.parse(text)) as { weight_map?: unknown };
    return typeof weight_map === 'object' && weight_map !== null && !Array.isArray(weight_map)
      ? weight_map
      : undefined;
  } catch {
    return undefined;
  }
}
