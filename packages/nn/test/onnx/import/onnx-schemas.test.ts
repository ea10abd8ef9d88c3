import { describe, expect, test } from 'vitest';
import { opsets, specificationOf } from '../../../src/onnx/import/bind.ts';
import { operatorTable } from '../../../src/onnx/import/operators/index.ts';
import {
  existsIn,
  type AttributeSpecification,
  type OperatorSpecification,
} from '../../../src/onnx/import/specification.ts';
import { goldenFile } from '../../support/golden-cases.ts';

// Compares importOnnx's table with the schemas of the Python package onnx, as written by `test/golden/onnx_schemas.py`.

interface Schema {
  readonly since: number;
  readonly deprecated: boolean;
  readonly attributes: Readonly<Record<string, SchemaAttribute>>;
  readonly inputs: readonly SchemaParameter[];
  readonly outputs: readonly SchemaParameter[];
}

interface SchemaAttribute {
  readonly type: string;
  readonly required?: boolean;
  readonly default?: unknown;
}

interface SchemaParameter {
  readonly name: string;
  readonly option: 'single' | 'optional' | 'variadic';
  readonly types: readonly string[];
}

const { operators, opset: lastOpset } = goldenFile('onnx_schemas') as {
  readonly opset: number;
  readonly operators: Readonly<Record<string, readonly Schema[]>>;
};

/** The versions of an operator's schema, each with an opset in which it is in effect and its entry in the table. */
function versionsOf(
  op: string,
): { opset: number; schema: Schema; table: OperatorSpecification | undefined }[] {
  return operators[op].map((schema) => {
    const opset = Math.max(schema.since, opsets.first);
    return { opset, schema, table: specificationOf(op, opset) };
  });
}

const handled = Object.keys(operators).flatMap((op) =>
  versionsOf(op).flatMap(({ table, ...rest }) => (table ? [{ op, ...rest, table }] : [])),
);

/** Deprecated versions in the table, because PyTorch exports them. */
const deprecatedButHandled = ['GroupNormalization 18'];

/** Versions that require inputs which newer ones do not, and which exporters omit. */
const inputsMayBeMissing = ['Gemm 7', 'Gemm 9', 'Resize 11'];

test('the table has all operators of the schemas, up to their latest opset', () => {
  expect(Object.keys(operatorTable).sort()).toEqual(Object.keys(operators).sort());
  expect(opsets.last).toBe(lastOpset);
});

test('the table has every version of every operator, but no deprecated or unknown one', () => {
  const wrong = Object.keys(operators).flatMap((op) => {
    const versions = versionsOf(op).filter(({ schema, table }) => {
      const isDeprecated = schema.deprecated && !deprecatedButHandled.includes(`${op} ${schema.since}`);
      return (table === undefined) !== isDeprecated;
    });
    const earlier = operators[op][0].since - 1;
    const isInvented = earlier >= opsets.first && specificationOf(op, earlier) !== undefined;
    return [...versions.map(({ opset }) => `${op} ${opset}`), ...(isInvented ? [`${op} ${earlier}`] : [])];
  });
  expect(wrong).toEqual([]);
});

describe('every version of every operator', () => {
  test.each(handled)(
    '$op of opset $opset: attributes, their types and defaults',
    ({ opset, schema, table }) => {
      const attributes = Object.entries(table.attributes).filter(([, one]) => existsIn(opset, one));
      expect(Object.fromEntries(attributes.map(([name, one]) => [name, describeAttribute(one)]))).toEqual(
        Object.fromEntries(
          Object.entries(schema.attributes).map(([name, { type, required = false, default: otherwise }]) => [
            name,
            { type, required, ...(otherwise === undefined ? {} : { default: otherwise }) },
          ]),
        ),
      );
    },
  );

  test.each(handled)('$op of opset $opset: inputs and outputs', ({ op, opset, schema, table }) => {
    const kinds = { single: 'required', optional: 'optional', variadic: 'variadic' };
    const inputs = table.inputs.filter((one) => existsIn(opset, one));
    const isLenient = inputsMayBeMissing.includes(`${op} ${schema.since}`);
    expect(inputs.map(({ kind }) => kind)).toEqual(
      schema.inputs.map(({ option }, index) =>
        isLenient && inputs[index]?.kind === 'optional' ? 'optional' : kinds[option],
      ),
    );
    if (typeof table.outputs === 'function') {
      expect(schema.outputs).toHaveLength(1);
      return;
    }
    const outputs = (table.outputs ?? ['T']).slice(0, schema.outputs.length);
    expect(outputs.map((one) => one.startsWith('...'))).toEqual(
      schema.outputs.map(({ option }) => option === 'variadic'),
    );
  });
});

/** An attribute of the table as the schemas describe it. */
function describeAttribute({ type, isRequired = false, otherwise }: AttributeSpecification<unknown>) {
  const name = type === 'sparseTensor' ? 'SPARSE_TENSOR' : type.toUpperCase();
  const hasDefault = !isRequired && otherwise !== undefined;
  return { type: name, required: isRequired, ...(hasDefault ? { default: otherwise } : {}) };
}

/** Dtypes that an ONNX operator accepts and the table rejects, by operator and input. */
const refusedDtypes: Readonly<Record<string, string>> = {
  'Einsum Inputs': 'int64',
  'Erf X': 'int64',
  'Gemm A': 'int64',
  'Gemm B': 'int64',
  'Gemm C': 'int64',
  'ReduceL2 data': 'int64',
  'ReduceLogSumExp data': 'int64',
};

test('the table accepts the schemas’ dtypes, except those known to be rejected', () => {
  const refused: Record<string, string> = {};
  for (const { op, schema, table, opset } of handled) {
    const inputs = table.inputs.filter((one) => existsIn(opset, one));
    for (const [index, { name, type }] of inputs.entries()) {
      const given = schema.inputs[index].types;
      const taken: readonly string[] = table.types[type];
      const missing = given.filter((dtype) => !taken.includes(dtype));
      if (missing.length > 0) refused[`${op} ${name}`] = missing.join();
    }
  }
  expect(refused).toEqual(refusedDtypes);
});

test('outputs have the types of the schemas', () => {
  for (const { op, schema, table, opset } of handled) {
    const { outputs = ['T'] } = table;
    if (typeof outputs === 'function' || op === 'If') continue;
    for (const [index, one] of outputs.entries()) {
      // Its float mask is rejected if it is read, and MaxPool initially had one output.
      if (opset < 10 && index === 1 && ['Dropout', 'MaxPool'].includes(op)) continue;
      const name = one.replace('...', '');
      const dtypes: readonly string[] = Object.hasOwn(table.types, name) ? table.types[name] : [name];
      const allowed = schema.outputs[Math.min(index, schema.outputs.length - 1)].types;
      if (allowed.length === 0) continue;
      const common = dtypes.filter((dtype) => allowed.includes(dtype));
      expect(common, `${op} of opset ${opset}, output ${index}`).not.toEqual([]);
    }
  }
});
