import { bindGraph } from './bind.ts';
import { decodeModel } from './decode.ts';
import type { ReadExternal } from './external-data.ts';
import { factsOf } from './facts.ts';
import { inFloat32 } from './in-float32.ts';
import { operandsOf, withCopies, type IsParameter } from './initializers.ts';
import { neededValues } from './needed-values.ts';
import { OnnxModule, type OnnxOutput } from './onnx-module.ts';
import { requireComputable } from './trial.ts';

/** The module that computes the model in `bytes`. `readExternal` reads its arrays in other files. */
export function moduleOf<Output extends OnnxOutput>(
  bytes: Uint8Array,
  readExternal: ReadExternal,
  { isParameter, toFloat32 }: { isParameter?: IsParameter; toFloat32?: boolean },
): OnnxModule<Output> {
  const given = decodeModel(bytes, readExternal);
  const decoded = toFloat32 ? inFloat32(given) : given;
  const model = { ...decoded, graph: withCopies(decoded.graph) };
  const bound = bindGraph(model.graph, model.opset);
  const facts = factsOf(bound);
  const { leaves, nodes } = neededValues(facts);
  const neededInputs = model.graph.inputs.map(({ name }) => name).filter((name) => leaves.has(name));
  const module = new OnnxModule<Output>({
    bound,
    operands: operandsOf(model, bound, { needed: leaves, isParameter }),
    types: facts.types,
    neededInputs: new Set(neededInputs),
    neededNodes: nodes,
  });
  // Shapes that follow from an input are unknown until it is passed.
  if (neededInputs.length === 0) requireComputable(module);
  return module;
}
