import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { repository } from '../support/environment.ts';
import type { Manifest } from './schemas.ts';

export interface Container {
  name: string;
  image: string;
  command?: string[];
  args?: string[];
  env?: { name: string; valueFrom?: { secretKeyRef?: { name: string; key: string; optional?: boolean } } }[];
  ports?: { name: string; containerPort: number }[];
  resources?: Record<'requests' | 'limits', Record<string, string>>;
  volumeMounts?: { name: string; mountPath: string }[];
}

/** A pod, or the template of one. */
export interface PodTemplate {
  metadata: Manifest['metadata'];
  spec: {
    containers: Container[];
    terminationGracePeriodSeconds?: number;
    securityContext?: { runAsNonRoot?: boolean; runAsUser?: number };
    serviceAccountName?: string;
    nodeSelector?: Record<string, string>;
    tolerations?: { key: string; operator: string; value?: string; effect: string }[];
  };
}

export const folder = join(repository, 'deploy/manifests');

export const files = readdirSync(folder).filter((name) => name.endsWith('.yaml'));

/** The objects of `deploy/manifests/<name>` as kubectl reads them, with aliases resolved. */
export function read(name: string): Manifest[] {
  return parseManifests(readFileSync(join(folder, name), 'utf8'), name);
}

export function parseManifests(text: string, name: string): Manifest[] {
  return parseAllDocuments(text).map((document) => {
    if (document.errors.length > 0) throw new Error(`${name}: ${document.errors[0].message}`);
    return document.toJS() as Manifest;
  });
}

/** The pods of a manifest, at any depth. */
export function podsOf(value: unknown): PodTemplate[] {
  if (typeof value !== 'object' || value === null) return [];
  const { spec } = value as { spec?: { containers?: unknown } };
  if (Array.isArray(spec?.containers)) return [value as PodTemplate];
  return Object.values(value).flatMap(podsOf);
}
