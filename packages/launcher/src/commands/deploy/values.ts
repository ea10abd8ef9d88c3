import { InvalidArgumentError } from 'commander';
import type { NodeRange } from '../../options/launch-options.ts';
import { integerIn, parseNodes } from '../../options/values.ts';

/* Parsers of option values, with the rules of Kubernetes. They throw commander's InvalidArgumentError with the expected form. */

/** A taint that pods tolerate. Without a value, any value of the key; without an effect, all effects. */
export interface Toleration {
  readonly key: string;
  readonly value: string | undefined;
  readonly effect: string | undefined;
}

const label = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const subdomain = /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const nameOfKey = /^[A-Za-z0-9]([-\w.]{0,61}[A-Za-z0-9])?$/;

/** A name of RFC 1123 that begins with a letter, because services and host names are made from it. */
export function parseJobName(text: string): string {
  if (label.test(text) && /^[a-z]/.test(text)) return text;
  const suggested = toJobName(text);
  throw new InvalidArgumentError(
    `Expected a name of RFC 1123: lower-case letters, digits and hyphens, beginning with a letter, at most 63 characters.${suggested === undefined ? '' : ` Try ${suggested}.`}`,
  );
}

/** The nearest job name of at most 40 characters, if any. `My Job_2` becomes `my-job-2`. */
export function toJobName(text: string): string | undefined {
  const name = text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replace(/^[^a-z]+/, '')
    .slice(0, 40)
    .replace(/-+$/, '');
  return name === '' ? undefined : name;
}

export function parseNamespace(text: string): string {
  if (label.test(text)) return text;
  throw new InvalidArgumentError(
    'Expected the name of a namespace: lower-case letters, digits and hyphens, at most 63 characters.',
  );
}

/** The name of an existing object, such as a secret. */
export function parseObjectName(text: string): string {
  if (subdomain.test(text)) return text;
  throw new InvalidArgumentError(
    'Expected the name of a Kubernetes object: lower-case letters, digits, hyphens and dots (RFC 1123).',
  );
}

/** `registry.example:5000/team/train:1`, optionally with a digest. */
export function parseImage(text: string): string {
  const host = /[A-Za-z0-9][-A-Za-z0-9.]*(:\d+)?/.source;
  const part = /[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*/.source;
  const image = new RegExp(`^(${host}/)?${part}(/${part})*(:\\w[-\\w.]{0,127})?(@sha256:[0-9a-f]{64})?$`);
  if (image.test(text)) return text;
  throw new InvalidArgumentError(
    'Expected the name of an image in lower case, such as registry.example/team/train:1.',
  );
}

/** `3`, or `1:3` for nodes that may join and leave. */
export function parseNodeRange(text: string): NodeRange {
  const range = parseNodes(text);
  if (range.max <= 1000) return range;
  throw new InvalidArgumentError('Expected at most 1000 nodes.');
}

export function parseGpus(text: string): number {
  return integerIn(text, 0, 64, 'a number of GPUs per node from 0 to 64');
}

/** CPUs of a node: `2`, `1.5` or `500m`. */
export function parseCpu(text: string): string {
  if (/^(\d+(\.\d{1,3})?|\d+m)$/.test(text) && Number.parseFloat(text) > 0) return text;
  throw new InvalidArgumentError('Expected a quantity of CPUs above 0, such as 2, 1.5 or 500m.');
}

/** Memory of a node in bytes, with a unit: `4Gi`. */
export function parseMemory(text: string): string {
  if (/^\d+(\.\d+)?[KMGTPE]i?$|^\d+(\.\d+)?k$/.test(text) && Number.parseFloat(text) > 0) return text;
  const [, amount = '', unit = ''] = /^(\d+(?:\.\d+)?)\s*([KMGTPE])/i.exec(text) ?? [];
  const meant = amount === '' ? '' : ` Try ${amount}${unit.toUpperCase()}i.`;
  throw new InvalidArgumentError(`Expected a quantity of memory with a unit, such as 4Gi or 500M.${meant}`);
}

/** `key=value`, as `kubectl label` accepts it. */
export function parseLabel(text: string): [key: string, value: string] {
  const [, key = '', value = ''] = /^([^=]+)=([^=]*)$/.exec(text) ?? [];
  if (isKey(key) && (value === '' || nameOfKey.test(value))) return [key, value];
  throw new InvalidArgumentError('Expected a label of nodes as key=value, such as agentpool=gpu.');
}

/** `key=value:Effect`, `key:Effect` or `key`, as `kubectl taint` accepts it. */
export function parseToleration(text: string): Toleration {
  const [, key = '', assigned = '', suffix = ''] =
    /^([^=:]+)(=[^=:]*)?(:NoSchedule|:PreferNoSchedule|:NoExecute)?$/.exec(text) ?? [];
  const value = assigned === '' ? undefined : assigned.slice(1);
  const effect = suffix === '' ? undefined : suffix.slice(1);
  if (isKey(key) && (value === undefined || value === '' || nameOfKey.test(value)))
    return { key, value, effect };
  throw new InvalidArgumentError(
    'Expected a taint as key=value:Effect, such as sku=gpu:NoSchedule. The effects are NoSchedule, PreferNoSchedule and NoExecute.',
  );
}

/** `NAME=value`. */
export function parseVariable(text: string): [name: string, value: string] {
  const [, name = '', value = ''] = /^([A-Za-z_][A-Za-z0-9_]*)=(.*)$/s.exec(text) ?? [];
  if (name !== '') return [name, value];
  throw new InvalidArgumentError(
    'Expected NAME=value, such as AWS_ENDPOINT_URL_S3=http://minio.storage:9000.',
  );
}

/** A file, a folder or a pattern of .dockerignore, relative to the folder of the image. */
export function parsePattern(text: string): string {
  const isLine = text.trim() === text && !/[\r\n]|^[!#]/.test(text);
  const parts = text
    .replace(/^(\.\/)+/, '')
    .replace(/\/+$/, '')
    .split('/');
  if (isLine && !parts.includes('..') && parts[0] !== '' && parts[0] !== '.') return parts.join('/');
  throw new InvalidArgumentError(
    'Expected a file, a folder or a pattern of .dockerignore in this folder, such as data or vocab/*.txt.',
  );
}

/** Who may mount a volume: ReadWriteOnce is one node's disk, ReadWriteMany a shared file system. */
export type AccessMode = 'ReadWriteOnce' | 'ReadWriteMany';

export function parseAccessMode(text: string): AccessMode {
  const mode = (['ReadWriteOnce', 'ReadWriteMany'] as const).find(
    (one) => one.toLowerCase() === text.toLowerCase(),
  );
  if (mode) return mode;
  throw new InvalidArgumentError('Expected ReadWriteOnce or ReadWriteMany.');
}

/** `arn:aws:iam::111122223333:role/trainer`. */
export function parseRoleArn(text: string): string {
  if (/^arn:aws[\w-]*:iam::\d{12}:role\/[\w+=,.@/-]+$/.test(text)) return text;
  throw new InvalidArgumentError(
    'Expected the ARN of a role, such as arn:aws:iam::111122223333:role/trainer.',
  );
}

/** The OpenID Connect issuer of a cluster, without `https://`, as IAM names its provider. */
export function parseOidcProvider(text: string): string {
  const provider = text.replace(/^https:\/\//, '').replace(/\/$/, '');
  if (/^[\w-]+(\.[\w-]+)+(\/[\w-]+)*$/.test(provider)) return provider;
  throw new InvalidArgumentError(
    "Expected the cluster's OIDC issuer, such as oidc.eks.us-east-1.amazonaws.com/id/EXAMPLE. `aws eks describe-cluster --name CLUSTER --query cluster.identity.oidc.issuer` prints it.",
  );
}

export function parseBucket(text: string): string {
  if (/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(text)) return text;
  throw new InvalidArgumentError('Expected the name of a bucket without s3://, such as training-runs.');
}

/** `name` or `prefix/name`. */
function isKey(key: string): boolean {
  const parts = key.split('/');
  const isPrefixed = parts.length === 2 && subdomain.test(parts[0]);
  return (parts.length === 1 || isPrefixed) && nameOfKey.test(parts.at(-1)!);
}
