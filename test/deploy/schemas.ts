import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import type { ErrorObject, SchemaObject, ValidateFunction } from 'ajv';
import { parse } from 'yaml';
import { repository } from '../support/environment.ts';

const folder = join(repository, '../shared/k8s');

/** Why manifests cannot be validated; undefined if they can. */
export const schemasProblem = existsSync(folder)
  ? undefined
  : `there is no ${folder} with the operators' CRDs`;

/** An object with `kind` and `apiVersion`. */
export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; labels?: Record<string, string>; annotations?: Record<string, string> };
  spec: Record<string, unknown>;
}

interface CustomResourceDefinition {
  spec: {
    group: string;
    names: { kind: string };
    versions: { name: string; schema: { openAPIV3Schema: SchemaObject } }[];
  };
}

/** Validates an object as the API server does with --validate=strict, without CEL rules (x-kubernetes-validations). */
const ajv = withKubernetesWords(new Ajv({ strict: false, allErrors: true }));
const validators = new Map<string, ValidateFunction>();

/**
 * The problems of a manifest, in lines such as `/spec/foo: must NOT have additional properties`.
 *
 * Kubernetes' own kinds are validated with parts of the operators' CRDs, which contain a complete PodSpec, JobSpec and
 * claim spec.
 */
export function problemsOf(manifest: Manifest): string[] {
  const { kind, apiVersion, spec, ...rest } = manifest;
  const validate = validatorFor(kind, apiVersion);
  const { metadata, ...others } = rest;
  return [
    ...Object.keys(others).map((name) => `/${name}: is not a field of a manifest`),
    ...linesOf(metadataValidator, metadata, '/metadata'),
    ...linesOf(validate, spec, '/spec'),
  ];
}

function linesOf(validate: ValidateFunction, value: unknown, at: string): string[] {
  validate(value);
  return (validate.errors ?? []).map((error) => `${at}${error.instancePath}: ${wordsOf(error)}`);
}

function wordsOf({ message, params }: ErrorObject): string {
  const { additionalProperty } = params as { additionalProperty?: string };
  return additionalProperty === undefined ? String(message) : `${additionalProperty} is not a field here`;
}

const metadataValidator = ajv.compile({
  type: 'object',
  required: ['name'],
  additionalProperties: false,
  properties: {
    // RFC 1123, because the name becomes part of host names.
    name: { type: 'string', pattern: '^[a-z]([-a-z0-9]*[a-z0-9])?$', maxLength: 63 },
    namespace: { type: 'string' },
    labels: { type: 'object', additionalProperties: { type: 'string' } },
    annotations: { type: 'object', additionalProperties: { type: 'string' } },
  },
});

const labelSelector = {
  type: 'object',
  additionalProperties: false,
  properties: { matchLabels: { type: 'object', additionalProperties: { type: 'string' } } },
};

/** The fields of a NetworkPolicySpec that the manifests use: no CRD contains one. */
const networkPolicyValidator = ajv.compile({
  type: 'object',
  additionalProperties: false,
  required: ['podSelector'],
  properties: {
    podSelector: labelSelector,
    policyTypes: { type: 'array', items: { enum: ['Ingress', 'Egress'] } },
    ingress: {
      type: 'array',
      items: {
        type: 'object',
        additionalProperties: false,
        properties: {
          from: {
            type: 'array',
            items: {
              type: 'object',
              additionalProperties: false,
              properties: { podSelector: labelSelector },
            },
          },
        },
      },
    },
  },
});

function validatorFor(kind: string, apiVersion: string): ValidateFunction {
  const known = validators.get(`${apiVersion} ${kind}`);
  if (known) return known;
  if (kind === 'NetworkPolicy' && apiVersion === 'networking.k8s.io/v1') return networkPolicyValidator;
  const place = places[kind];
  if (place === undefined) throw new Error(`no schema for ${apiVersion} ${kind}`);
  const [file, expected, path] = place;
  const crd = parse(readFileSync(join(folder, file), 'utf8')) as CustomResourceDefinition;
  const { group, names, versions } = crd.spec;
  const own = `${group}/${versions[0].name}`;
  if (names.kind === kind && own !== apiVersion)
    throw new Error(`${kind} is of ${own}, the manifest has ${apiVersion}`);
  if (names.kind !== kind && expected !== apiVersion)
    throw new Error(`${kind} is of ${expected}, the manifest has ${apiVersion}`);
  const schema = path
    .split('.')
    .reduce<SchemaObject>((at, step) => at[step] as SchemaObject, versions[0].schema.openAPIV3Schema);
  const validate = ajv.compile(closed(schema));
  validators.set(`${apiVersion} ${kind}`, validate);
  return validate;
}

const podSpec =
  'properties.spec.properties.pytorchReplicaSpecs.additionalProperties.properties.template.properties.spec';

/** The file of a kind, its apiVersion for Kubernetes' own kinds, and the path of the schema of `spec`. */
const places: Record<string, readonly [file: string, apiVersion: string, path: string] | undefined> = {
  PyTorchJob: ['pytorchjobs.crd.yaml', '', 'properties.spec'],
  TrainJob: ['trainjobs.crd.yaml', '', 'properties.spec'],
  ClusterTrainingRuntime: ['clustertrainingruntimes.crd.yaml', '', 'properties.spec'],
  // The same spec as that of the whole cluster.
  TrainingRuntime: ['clustertrainingruntimes.crd.yaml', 'trainer.kubeflow.org/v1alpha1', 'properties.spec'],
  Pod: ['pytorchjobs.crd.yaml', 'v1', podSpec],
  Job: [
    'clustertrainingruntimes.crd.yaml',
    'batch/v1',
    'properties.spec.properties.template.properties.spec.properties.replicatedJobs.items.properties.template.properties.spec',
  ],
  PersistentVolumeClaim: [
    'pytorchjobs.crd.yaml',
    'v1',
    `${podSpec}.properties.volumes.items.properties.ephemeral.properties.volumeClaimTemplate.properties.spec`,
  ],
};

/** The schema with unknown fields forbidden: the API server would silently drop a misspelt field. */
function closed(schema: SchemaObject): SchemaObject {
  if (Array.isArray(schema)) return schema.map((part: SchemaObject) => closed(part));
  if (typeof schema !== 'object') return schema;
  const parts = Object.entries(schema).map(([name, part]) => [name, closed(part as SchemaObject)] as const);
  const open = schema['x-kubernetes-preserve-unknown-fields'] === true || 'additionalProperties' in schema;
  const isObject = schema['type'] === 'object' && 'properties' in schema;
  return { ...Object.fromEntries(parts), ...(isObject && !open && { additionalProperties: false }) };
}

function withKubernetesWords(own: Ajv): Ajv {
  const within = (bits: number) => (value: number) =>
    Number.isInteger(value) && Math.abs(value) < 2 ** (bits - 1);
  own.addFormat('int32', { type: 'number', validate: within(32) });
  own.addFormat('int64', { type: 'number', validate: within(64) });
  own.addFormat('date-time', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/);
  // List types `map` and `set` require unique keys and unique members.
  own.addKeyword({
    keyword: 'x-kubernetes-list-map-keys',
    type: 'array',
    validate: (keys: string[], list: Record<string, unknown>[]) =>
      isUnique(list.map((item) => keys.map((key) => item[key]))),
  });
  own.addKeyword({
    keyword: 'x-kubernetes-list-type',
    type: 'array',
    validate: (type: string, list: unknown[]) => type !== 'set' || isUnique(list),
  });
  return own;
}

function isUnique(values: readonly unknown[]): boolean {
  return new Set(values.map((value) => JSON.stringify(value))).size === values.length;
}
