import type { DType } from '../../dtype.ts';
import type { ConstantArray, Operand } from './constant-array.ts';
import type { OperatorCall } from './call.ts';
import type { attributeTypeCode } from '../../onnx-format/type-codes.ts';
import type { OnnxGraph } from './decode.ts';
import type { ElementType } from './element-type.ts';

// The language in which `operators/` declares what the importer supports. Models are checked against it on import.

/** First and last version of the standard operators (opset) in which a part of an operator exists. Default: all. */
export interface Versions {
  readonly since?: number;
  readonly until?: number;
}

export type AttributeType = keyof typeof attributeTypeCode;

/** An attribute of an operator. */
export interface AttributeSpecification<Content> extends Versions {
  readonly type: AttributeType;
  /** A model without it is invalid. */
  readonly isRequired?: boolean;
  /** Default of the attribute. */
  readonly otherwise: Content;
  /** The only contents that the importer supports. Default: all contents of the type. */
  readonly accepts?: readonly unknown[];
}

type Attribute<Content> = AttributeSpecification<Content>;

/** Attributes of an operator by their names. */
export type AttributeSpecifications = Readonly<Record<string, Attribute<unknown>>>;

/** Contents of attributes by their names. */
export type ContentsOf<Attributes extends AttributeSpecifications> = {
  readonly [Name in keyof Attributes]: Attributes[Name] extends Attribute<infer Content> ? Content : never;
};

/** An integer. */
export function int(otherwise: number, accepts?: readonly number[]): Attribute<number> {
  return accepts ? { type: 'int', otherwise, accepts } : { type: 'int', otherwise };
}

/** An integer that is 0 or 1. */
export const flag = (otherwise: 0 | 1): Attribute<number> => int(otherwise, [0, 1]);

export const optionalInt: Attribute<number | undefined> = { type: 'int', otherwise: undefined };

export const requiredInt: Attribute<number> = { type: 'int', isRequired: true, otherwise: 0 };

export const float = (otherwise: number): Attribute<number> => ({
  type: 'float',
  otherwise: Math.fround(otherwise),
});

export const optionalFloat: Attribute<number | undefined> = { type: 'float', otherwise: undefined };

/** A string, one of several. */
export function oneOf<Content extends string>(
  otherwise: Content,
  ...others: readonly Content[]
): Attribute<Content> {
  return { type: 'string', otherwise, accepts: [otherwise, ...others] };
}

export const requiredString: Attribute<string> = { type: 'string', isRequired: true, otherwise: '' };

export const ints: Attribute<readonly number[] | undefined> = { type: 'ints', otherwise: undefined };

export const requiredInts: Attribute<readonly number[]> = { type: 'ints', isRequired: true, otherwise: [] };

export const floats: Attribute<readonly number[] | undefined> = { type: 'floats', otherwise: undefined };

export const tensorContent: Attribute<ConstantArray | undefined> = { type: 'tensor', otherwise: undefined };

export const requiredGraph: Attribute<OnnxGraph> = {
  type: 'graph',
  isRequired: true,
  otherwise: { nodes: [], initializers: new Map(), inputs: [], inputTypes: [], outputs: [] },
};

/** An attribute that the importer rejects with any content. */
export const refused = (type: AttributeType): Attribute<undefined> => ({
  type,
  otherwise: undefined,
  accepts: [],
});

/** From an opset on. */
export const since = <Part extends object>(version: number, part: Part): Part & Versions => ({
  ...part,
  since: version,
});

/** Up to and including an opset. */
export const until = <Part extends object>(version: number, part: Part): Part & Versions => ({
  ...part,
  until: version,
});

/** An input of an operator. */
export interface InputSpecification extends Versions {
  /** Name in the latest version of the operator. */
  readonly name: string;
  /** Name of one of the operator's `types`. */
  readonly type: string;
  readonly kind: 'required' | 'optional' | 'variadic';
  /** True if shapes depend on it: it must follow from shapes and constants, or be an input of the model. */
  readonly isKnown: boolean;
  /** True for numbers of the model that are not learned, such as the limits of a Clip. */
  readonly isSetting: boolean;
}

function inputOf(kind: InputSpecification['kind']) {
  return (name: string, type = 'T'): InputSpecification => ({
    name,
    type,
    kind,
    isKnown: false,
    isSetting: false,
  });
}

export const input = inputOf('required');
export const optional = inputOf('optional');
export const variadic = inputOf('variadic');

/** An input that must be known before the graph runs. */
export const known = (part: InputSpecification): InputSpecification => ({
  ...part,
  isKnown: true,
  isSetting: true,
});

/** An input that is not learned. */
export const setting = (part: InputSpecification): InputSpecification => ({ ...part, isSetting: true });

/** Dtypes that a type variable of an operator stands for. Narrower integers become int64, and wrap around as in the file. */
export type DTypes = readonly DType[];

export const floating: DTypes = ['float32'];
export const integral: DTypes = ['int64'];
export const boolean: DTypes = ['bool'];
export const numeric: DTypes = ['float32', 'int64'];
export const every: DTypes = ['float32', 'int64', 'bool'];

/**
 * Types of an operator's outputs in their order: names of its `types`, or element types. A name that begins with dots stands
 * for all remaining outputs.
 */
export type OutputTypes<Attributes> =
  readonly string[] | ((attributes: Attributes) => readonly (ElementType | undefined)[]);

/** The facts about a node that a check may use before any `forward`. */
export interface NodeFacts<Attributes> {
  readonly attributes: Attributes;
  readonly opset: number;
  /** Dtype of an input; undefined if it is left out or the model does not specify it. */
  readonly dtype: (index: number) => DType | undefined;
  /** True if an input is present. */
  readonly isGiven: (index: number) => boolean;
  /** True if an input is an input of the model. */
  readonly isInput: (index: number) => boolean;
  /** True if an output is read by another operator or is an output of the model. */
  readonly isRead: (output: number) => boolean;
  /** Returns an input that is an array of the file. */
  readonly constant: (index: number) => ConstantArray | undefined;
}

/** Specifies, for a range of opsets, the parts of an operator that the importer supports and how it computes them. */
export interface OperatorSpecification<
  Attributes extends AttributeSpecifications = AttributeSpecifications,
> extends Versions {
  readonly types: Readonly<Record<string, DTypes>>;
  readonly inputs: readonly InputSpecification[];
  /** Types of the outputs. Default: one output of type T. */
  readonly outputs?: OutputTypes<ContentsOf<Attributes>>;
  readonly attributes: Attributes;
  /** Describes why a node that otherwise fits cannot be computed; undefined if it can. */
  readonly refuse?: (facts: NodeFacts<ContentsOf<Attributes>>) => string | undefined;
  /** Positions of inputs that must be known for these attributes and dtypes, in addition to those declared `known`. */
  readonly needs?: (facts: NodeFacts<ContentsOf<Attributes>>) => readonly number[];
  /** True if results of narrow integers may overflow. */
  readonly wraps?: boolean;
  /** True if the result follows from the shapes of the inputs. */
  readonly isShape?: boolean;
  /** Computes the result from inputs that are known before the graph runs, with ONNX semantics. */
  readonly fold?: FoldingRule<ContentsOf<Attributes>>;
  /** Computes the outputs as tensors. Undefined: supported for known inputs only. */
  readonly compute?: OperatorRule<ContentsOf<Attributes>>;
}

export type OperatorRule<Attributes> = (call: OperatorCall<Attributes>) => Operand | readonly Operand[];

export type FoldingRule<Attributes> = (
  call: OperatorCall<Attributes>,
  inputs: readonly ConstantArray[],
) => ConstantArray;

/** An operator of a table: its versions, the oldest first. */
export type OperatorVersions = readonly OperatorSpecification[];

/** Type-checks an entry of a table, then erases the types of its attributes. */
export function operator<const Attributes extends AttributeSpecifications>(
  specification: OperatorSpecification<Attributes>,
): OperatorVersions {
  return [specification as unknown as OperatorSpecification];
}

/** True if a part exists in an opset. */
export function existsIn(opset: number, { since: first = 0, until: last = Infinity }: Versions): boolean {
  return opset >= first && opset <= last;
}
