import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Certificate {
  certFile: string;
  keyFile: string;
  cert: string;
  key: string;
}

/** A certificate authority in a folder, valid for a day. */
export class CertificateAuthority {
  readonly certFile: string;
  readonly cert: string;
  readonly #folder: string;
  readonly #keyFile: string;

  constructor(folder: string) {
    this.#folder = folder;
    this.certFile = join(folder, 'ca.crt');
    this.#keyFile = join(folder, 'ca.key');
    const subject = ['-subj', '/CN=ringrun-test-ca', '-days', '1'];
    openssl('req', '-x509', ...newKey(this.#keyFile), ...subject, '-out', this.certFile);
    this.cert = readFileSync(this.certFile, 'utf8');
  }

  /**
   * @param subject Such as `/O=system:masters/CN=admin`: the groups and the name of a user.
   * @param names DNS names and addresses of a server.
   */
  issue(name: string, subject: string, names: readonly string[] = []): Certificate {
    const path = (suffix: string): string => join(this.#folder, `${name}.${suffix}`);
    const alternatives = names.map((each) => `${/^[\d.]+$/.test(each) ? 'IP' : 'DNS'}:${each}`);
    const extensions = ['extendedKeyUsage=clientAuth,serverAuth'];
    if (alternatives.length > 0) extensions.push(`subjectAltName=${alternatives.join()}`);
    writeFileSync(path('ext'), extensions.join('\n'));
    openssl('req', ...newKey(path('key')), '-subj', subject, '-out', path('csr'));
    const signer = ['-CA', this.certFile, '-CAkey', this.#keyFile, '-CAcreateserial', '-days', '1'];
    openssl('x509', '-req', '-in', path('csr'), ...signer, '-extfile', path('ext'), '-out', path('crt'));
    return {
      certFile: path('crt'),
      keyFile: path('key'),
      cert: readFileSync(path('crt'), 'utf8'),
      key: readFileSync(path('key'), 'utf8'),
    };
  }
}

function newKey(file: string): string[] {
  return ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', file];
}

function openssl(...args: string[]): void {
  const { status, stderr } = spawnSync('openssl', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`openssl ${args.join(' ')}: ${stderr}`);
}
