import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { builtFile } from '../../../../../test/support/built-script.ts';
import { listing } from '../../support/faulty-s3.ts';
import { credentials } from '../../support/s3.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const script = fileURLToPath(builtFile(new URL('./tls.script.ts', import.meta.url)));
const hasOpenssl = spawnSync('openssl', ['version']).status === 0;

interface Certificate {
  key: string;
  certificate: string;
}

function openssl(folder: string, ...args: string[]): void {
  const { status, stderr } = spawnSync('openssl', args, { cwd: folder, encoding: 'utf8' });
  expect(status, stderr).toBe(0);
}

/** A self-signed certificate for `name`, valid in 2020 only if it is expired. */
function certificateFor(folder: string, name: string, isExpired = false): Certificate {
  writeFileSync(
    join(folder, 'ca.cnf'),
    `[ca]\ndefault_ca = a\n[a]\ndatabase = index.txt\nserial = serial\nnew_certs_dir = .\ndefault_md = sha256\npolicy = p\nx509_extensions = x\n[p]\ncommonName = supplied\n[x]\nsubjectAltName = ${name}\n`,
  );
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'index.txt'), '');
  writeFileSync(join(folder, 'serial'), '01\n');
  openssl(
    folder,
    'req',
    '-new',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
    '-keyout',
    'key.pem',
    '-out',
    'request.pem',
    '-subj',
    '/CN=s3',
  );
  const dates = isExpired
    ? ['-startdate', '20200101000000Z', '-enddate', '20200201000000Z']
    : ['-days', '30'];
  openssl(
    folder,
    'ca',
    '-batch',
    '-selfsign',
    '-notext',
    '-config',
    'ca.cnf',
    '-keyfile',
    'key.pem',
    '-in',
    'request.pem',
    '-out',
    'certificate.pem',
    ...dates,
  );
  return {
    key: readFileSync(join(folder, 'key.pem'), 'utf8'),
    certificate: readFileSync(join(folder, 'certificate.pem'), 'utf8'),
  };
}

test
  .runIf(hasOpenssl)
  .each<
    [
      what: string,
      name: string,
      options: { isExpired?: boolean; isTrusted?: boolean; scheme?: string },
      message: RegExp,
    ]
  >([
    ['a trusted one', 'IP:127.0.0.1', { isTrusted: true }, /^0 objects$/],
    [
      'a self-signed one',
      'IP:127.0.0.1',
      {},
      /self-signed certificate.*Set NODE_EXTRA_CA_CERTS to a PEM file/,
    ],
    [
      'an expired one',
      'IP:127.0.0.1',
      { isExpired: true, isTrusted: true },
      /certificate has expired.*Renew the service's certificate, or set this host's clock/,
    ],
    [
      'one for another name',
      'DNS:other.example.org',
      { isTrusted: true },
      /is not in the cert's list.*Use a host name of the service's certificate/,
    ],
    [
      'none, since the endpoint has http://',
      'IP:127.0.0.1',
      { scheme: 'http' },
      /: (wrong endpoint|interrupted) \(/,
    ],
  ])(
  `TLS with %s${hasOpenssl ? '' : ': skipped, needs openssl'}`,
  async (_, name, { isExpired, isTrusted, scheme = 'https' }, message) => {
    const folder = temporaryFolder();
    const { key, certificate } = certificateFor(folder, name, isExpired);
    const server = createServer({ key, cert: certificate }, (_request, response) =>
      response.end(listing([])),
    );
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const { port } = server.address() as AddressInfo;
    const env = {
      PATH: process.env['PATH'],
      AWS_ENDPOINT_URL_S3: `${scheme}://127.0.0.1:${port}`,
      ...credentials,
      ...(isTrusted ? { NODE_EXTRA_CA_CERTS: join(folder, 'certificate.pem') } : {}),
    };
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [script], {
      env,
      timeout: 50_000,
    });
    expect(stderr).toBe('');
    const error = JSON.parse(stdout) as { code: string; message: string };
    expect(error.message).toMatch(message);
    if (error.code !== 'none')
      expect(error.message).toContain(`listing s3://data at ${scheme}://127.0.0.1:${port}`);
  },
);
