import type { BoundNode } from './bind.ts';
import { nodeError } from './call.ts';
import { dtypeOf, type ElementType } from './element-type.ts';
import { existsIn, type InputSpecification } from './specification.ts';

type Types = ReadonlyMap<string, ElementType>;

/** The operator's declaration for each input of a node. */
export function inputsOf(node: BoundNode): InputSpecification[] {
  const declared = node.specification.inputs.filter((one) => existsIn(node.opset, one));
  const last = declared.at(-1);
  const most = last?.kind === 'variadic' ? Infinity : declared.length;
  if (node.inputs.length > most) {
    throw nodeError('importOnnx', node, `expected at most ${most} inputs, got ${node.inputs.length}`);
  }
  const missing = declared.find(({ kind }, index) => kind === 'required' && !node.inputs[index]);
  if (missing) throw nodeError('importOnnx', node, `expected the input ${missing.name}, got none`);
  return node.inputs.map((_, index) => declared[Math.min(index, declared.length - 1)]);
}

/** The element types that an operator's type variables stand for in a node. Inputs with one variable have one element type. */
export function typesOf(node: BoundNode, given: readonly (ElementType | undefined)[]): Types {
  const types = new Map<string, ElementType>();
  for (const [index, { name, type: variable }] of inputsOf(node).entries()) {
    const type = given[index];
    if (type === undefined) continue;
    const other = types.get(variable);
    if (other !== undefined && other !== type) {
      throw nodeError('importOnnx', node, `expected inputs of one type, got ${other} and ${type}`);
    }
    const dtypes = node.specification.types[variable];
    if (!dtypes.includes(dtypeOf(type))) {
      throw nodeError('importOnnx', node, `expected an input ${name} of ${dtypes.join(' or ')}, got ${type}`);
    }
    types.set(variable, type);
  }
  return types;
}

export function requireOutputs(node: BoundNode): void {
  const { outputs = ['T'] } = node.specification;
  if (typeof outputs === 'function' || outputs.at(-1)?.startsWith('...')) return;
  if (node.outputs.length > outputs.length) {
    throw nodeError(
      'importOnnx',
      node,
      `expected at most ${outputs.length} outputs, got ${node.outputs.length}`,
    );
  }
}

/** Element types of the outputs of a node; for an If, those of its branches. */
export function outputTypesOf(
  node: BoundNode,
  types: Types,
  branches: readonly (readonly { readonly type: ElementType | undefined }[])[],
): readonly (ElementType | undefined)[] {
  if (branches.length > 0) return branchTypes(node, branches);
  const { outputs = ['T'] } = node.specification;
  if (typeof outputs === 'function') return outputs(node.attributes);
  const last = outputs.at(-1) ?? '';
  return node.outputs.map((_, index) => {
    const name = (outputs.at(index) ?? last).replace('...', '');
    return Object.hasOwn(node.specification.types, name) ? types.get(name) : (name as ElementType);
  });
}

function branchTypes(
  node: BoundNode,
  branches: readonly (readonly { readonly type: ElementType | undefined }[])[],
): readonly (ElementType | undefined)[] {
  return node.outputs.map((name, index) => {
    const given = branches.map((outputs) => outputs.at(index));
    const [one, other] = given;
    if (one && other && one.type === other.type) return one.type;
    const got = given.map((output) => (output ? output.type : 'no output')).join(' and ');
    throw nodeError('importOnnx', node, `expected branches that compute ${name} of one type, got ${got}`);
  });
}
