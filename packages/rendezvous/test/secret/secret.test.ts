import { hkdfSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { curveKeyPair } from 'zeromq';
import { dataConnectionSecurity } from '../../src/secret/encryption.ts';
import { createSecret, jobSecret, requireSecret } from '../../src/secret/job-secret.ts';
import { dataConnectionKey, storeKeys } from '../../src/secret/keys.ts';
import { z85 } from '../../src/store/curve.ts';
import { temporaryFolder } from '../../../runtime/test/support/temporary-folder.ts';

const secret = 'correct horse battery staple';
const messageOf = (call: () => unknown): string => {
  try {
    return `no error: ${String(call())}`;
  } catch (error) {
    return (error as Error).message;
  }
};

describe('jobSecret', () => {
  test('reads RINGRUN_SECRET, then the file RINGRUN_SECRET_FILE, without white space around it', () => {
    const path = join(temporaryFolder(), 'secret');
    writeFileSync(path, `  ${secret}\n`);
    expect(jobSecret({})).toBeUndefined();
    expect(jobSecret({ RINGRUN_SECRET: '', RINGRUN_SECRET_FILE: ' ' })).toBeUndefined();
    expect(jobSecret({ RINGRUN_SECRET: `${secret}\n` })).toBe(secret);
    expect(jobSecret({ RINGRUN_SECRET_FILE: path })).toBe(secret);
    expect(jobSecret({ RINGRUN_SECRET_FILE: path, RINGRUN_SECRET: 'another secret of the job' })).toBe(
      'another secret of the job',
    );
  });

  test('refuses a short secret and a file that cannot be read, without printing the secret', () => {
    const path = join(temporaryFolder(), 'secret');
    writeFileSync(path, 'hunter2hunter2\n');
    expect(messageOf(() => jobSecret({ RINGRUN_SECRET: 'hunter2hunter2' }))).toBe(
      'RINGRUN_SECRET: expected a secret of at least 16 characters, got 14. Create one with: openssl rand -base64 32',
    );
    const ofFile = messageOf(() => jobSecret({ RINGRUN_SECRET_FILE: path }));
    expect(ofFile).toContain(`RINGRUN_SECRET_FILE (${path}): expected a secret of at least 16 characters`);
    expect(ofFile).not.toContain('hunter2');
    expect(messageOf(() => jobSecret({ RINGRUN_SECRET_FILE: `${path}.absent` }))).toContain(
      `got ${path}.absent (ENOENT)`,
    );
  });

  test('RINGRUN_REQUIRE_SECRET=1 refuses a job without a secret', () => {
    expect(() => {
      requireSecret({ RINGRUN_REQUIRE_SECRET: '1' });
    }).toThrow(expect.objectContaining({ code: 'ERR_SECRET_REQUIRED' }));
    requireSecret({ RINGRUN_REQUIRE_SECRET: '1', RINGRUN_SECRET: secret });
    requireSecret({});
  });
});

describe('dataConnectionSecurity', () => {
  const withSecret = { RINGRUN_SECRET: secret };

  test('encrypts by option, else by RINGRUN_ENCRYPT, with the key of the secret', () => {
    const key = dataConnectionKey(withSecret);
    expect(dataConnectionSecurity(undefined, withSecret)).toEqual({ key, encrypt: false });
    const byVariable = { ...withSecret, RINGRUN_ENCRYPT: '1' };
    expect(dataConnectionSecurity(undefined, byVariable)).toEqual({ key, encrypt: true });
    expect(dataConnectionSecurity(false, byVariable)).toEqual({ key, encrypt: false });
    expect(dataConnectionSecurity(true, { ...withSecret, RINGRUN_ENCRYPT: '0' })).toEqual({
      key,
      encrypt: true,
    });
    expect(messageOf(() => dataConnectionSecurity(undefined, { RINGRUN_ENCRYPT: 'yes' }))).toContain(
      "expected 1 to encrypt data connections, or 0, got 'yes'",
    );
  });

  test('refuses encryption without a secret', () => {
    expect(() => dataConnectionSecurity(true, {})).toThrow(
      expect.objectContaining({ code: 'ERR_SECRET_REQUIRED' }),
    );
    expect(messageOf(() => dataConnectionSecurity(undefined, { RINGRUN_ENCRYPT: '1' }))).toMatch(
      /expected a secret of the job, got none\. To set one, run `openssl rand/,
    );
  });
});

describe('keys', () => {
  test('follow RFC 5869 from the secret; without a secret the data key is zeros', () => {
    const keys = storeKeys({ RINGRUN_SECRET: secret })!;
    const expected = Buffer.from(hkdfSync('sha256', secret, 'ringrun/1', 'store server', 32));
    expect(keys.server.secretKey).toEqual(expected);
    const data = dataConnectionKey({ RINGRUN_SECRET: secret });
    expect(Buffer.from(data)).toEqual(
      Buffer.from(hkdfSync('sha256', secret, 'ringrun/1', 'data connections', 32)),
    );
    const all = [
      keys.server.secretKey,
      keys.server.publicKey,
      keys.client.secretKey,
      keys.client.publicKey,
      data,
    ];
    expect(new Set(all.map((key) => Buffer.from(key).toString('hex'))).size).toBe(5);
    expect(dataConnectionKey({})).toEqual(new Uint8Array(32));
    expect(storeKeys({})).toBeUndefined();
    expect(storeKeys({ RINGRUN_SECRET: `${secret}!` })!.server.secretKey).not.toEqual(expected);
  });

  test("Z85 is ZeroMQ's", () => {
    // The example of RFC 32.
    expect(z85(Buffer.from('864fd26fb559f75b', 'hex'))).toBe('HelloWorld');
    expect(z85(Buffer.alloc(32, 0xff))).toHaveLength(curveKeyPair().publicKey.length);
  });

  test('a created secret has 256 bits and is accepted', () => {
    const created = createSecret();
    expect(Buffer.from(created, 'base64url')).toHaveLength(32);
    expect(jobSecret({ RINGRUN_SECRET: created })).toBe(created);
    expect(createSecret()).not.toBe(created);
  });
});
